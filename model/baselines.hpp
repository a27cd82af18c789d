// Simple forecasts that a model of a training step has to beat, scored on the same rows.
//   B0  N times the throughput
//   B1  ring time, step = max(compute, communication)
//   B2  compute + communication, no overlap
//   B3  event queue of buckets without copies, latency and contention
//   B4  the same with one constant overlap slowdown
//   B5  Amdahl's law fitted on other rows' measured speedups
//   B6  universal scalability law fitted on the same series' other counts
#pragma once

#include <array>
#include <string_view>

#include "model/amdahl.hpp"
#include "model/strategy.hpp"

namespace ddpx {

enum class Baseline { b0, b1, b2, b3, b4, b5, b6 };
inline constexpr std::array kBaselines{Baseline::b0, Baseline::b1, Baseline::b2, Baseline::b3,
                                       Baseline::b4, Baseline::b5, Baseline::b6};
[[nodiscard]] std::string_view name(Baseline baseline);
[[nodiscard]] std::string_view title(Baseline baseline);

// Step seconds by B0..B4. They get the machine's one-GPU compute and optimizer and the link's bus
// bandwidth, as a careful person with a one-GPU timing and a bandwidth test would; B4 slows compute
// by `overlap_slowdown` while anything overlaps (1.15 is the usual rule of thumb). Throws for B5
// and B6, which need measured speedups: see amdahl.hpp.
[[nodiscard]] Seconds baseline_step(Baseline baseline, const Machine& machine, const Link& link,
                                    const Network& network, const Job& job,
                                    double overlap_slowdown = 1.15);

}  // namespace ddpx
