// The words of --diagnose as values. Of request.cpp.
#pragma once

#include <string>
#include <vector>

#include "predict/request.hpp"

namespace ddpx {

struct MeasuredRun {
  std::vector<StepPoint> points;  // ascending counts
  RankTimes ranks;
  // A collective seen in a trace.
  std::optional<Bytes> message;
  std::optional<Seconds> took;
};

// --diagnose, --rank-compute, --rank-wall, --rank-data. Samples per second (rN=) become steps of
// `job`'s samples. Throws InputError.
[[nodiscard]] MeasuredRun measured_run(const Options& options, Job job);

}  // namespace ddpx
