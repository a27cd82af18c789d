// Which samples of one operation are to be believed. Nothing is thrown away in silence: what is
// dropped carries its reason.
//
// Three things go wrong with repeated timings of the same work:
//  - a sample is disturbed (another process, an interrupt): it lies far from the others, judged by
//  the median absolute deviation,
//    which half of the samples cannot move (Hampel 1974; Leys et al. 2013);
//  - the device changes its speed once: it warms up, or it throttles;
//  - it changes all along: it drifts. There is no good half, so all samples stay and the spread
//  tells.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/measurement.hpp"

namespace ddpx {

struct Screened {
  std::vector<double> kept;  // in the order taken
  std::vector<DroppedSample> dropped;
  std::optional<std::string> remark;  // warmed up, throttled, drifts: a sentence without a subject
};

[[nodiscard]] Screened screen(std::span<const double> seconds);

// Standard error of the median over the median, 1.2533 s / sqrt(n) as for normal samples, with s
// the standard deviation of those samples that are not disturbed. The median absolute deviation
// alone would be too small by chance too often, and sampling stops when this is small.
[[nodiscard]] double relative_error_of_median(std::span<const double> seconds);
[[nodiscard]] double median(std::span<const double> values);

}  // namespace ddpx
