// The link side of the fit: one curve per collective, dtype and rank count.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// Fills machine.links. Throws InputError for a link without samples and for samples without a link.
void fit_links(const Measurements& measurements, const FitOptions& options, Machine& machine,
               FitReport& report);

// The curve of samples that share link, collective, dtype and rank count.
[[nodiscard]] Curve curve_of(std::span<const CollectiveSample* const> samples,
                             const FitOptions& options, FitReport& report);

// Time = latency + bytes/bandwidth, by least squares of the relative residuals; neither constant is
// below zero. Points by ascending size, two or more.
[[nodiscard]] ProtocolLine line_through(std::span<const CurvePoint> points);

}  // namespace ddpx
