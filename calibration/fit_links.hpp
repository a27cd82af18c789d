// The link side of the fit: one curve per collective, dtype and rank count.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// Fills machine.links. Throws InputError for a link without samples and for samples without a link.
void fit_links(const Measurements& measurements, const FitOptions& options, Machine& machine,
               FitReport& report);

// How the ranks of a log are joined, where nobody says: over hosts by a network; inside one by
// NVLink when their all-reduce is faster than over any PCIe link (PCIe 5 x16: 55 GB/s).
[[nodiscard]] Topology topology_of(bool several_hosts, BytesPerSecond bus_bandwidth);

// The curve of samples that share link, collective, dtype and rank count.
[[nodiscard]] Curve curve_of(std::span<const CollectiveSample* const> samples,
                             const FitOptions& options, FitReport& report);

// Time = latency + bytes/bandwidth, by least squares of the relative residuals; neither constant is
// below zero. Points by ascending size, two or more.
[[nodiscard]] ProtocolLine line_through(std::span<const CurvePoint> points);

}  // namespace ddpx
