// What one GPU did while all of them worked: its windows of products beside what NVML said of its
// clocks in each. A pure function of the answers.
#pragma once

#include <cstdint>
#include <span>

#include "profiler/cuda/nvml.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::cuda {

struct LoadWindow {
  double seconds = 0;                  // of one product
  std::uint64_t throttle_reasons = 0;  // NVML's, while it ran
};

// A burst is to show the GPU at its full clock: windows in which something slowed it are kept apart
// with the reason, unless that was so in all of them. Of a sustained load that is the answer.
[[nodiscard]] RankLoad load_of(std::span<const LoadWindow> windows, const GpuState& last,
                               Clocks clocks);

// For ranks to exchange: `state` and windows as numbers, and back. A state that NVML does not give
// stays unknown.
[[nodiscard]] std::vector<double> packed(std::span<const LoadWindow> windows,
                                         const GpuState& state);
[[nodiscard]] RankLoad unpacked(std::span<const double> numbers, Clocks clocks);

}  // namespace ddpx::cuda
