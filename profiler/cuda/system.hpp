// The box around a rank's GPU: what stands in the way before anything is measured, and what the
// hardware is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/cuda/gpu.hpp"
#include "profiler/cuda/nvml.hpp"
#include "profiler/rank_place.hpp"

namespace ddpx::cuda {

// NVML where the driver has it. One for a process.
[[nodiscard]] const std::optional<Nvml>& driver();

// Throws DeviceError for what would fail anyway, naming cause and remedy; what may disturb comes
// back in words. Before any rank uses a GPU.
[[nodiscard]] std::vector<std::string> look_before(const RankPlace& place);

[[nodiscard]] Hardware describe(const Gpu& gpu, const RankPlace& place);

}  // namespace ddpx::cuda
