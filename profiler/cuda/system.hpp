// What a rank's GPU and its job are, and waiting for them.
#pragma once

#include "profiler/backend.hpp"
#include "profiler/cuda/communicator.hpp"
#include "profiler/cuda/gpu.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cuda {

// This process among the ranks of its job; one rank when it was started by hand.
[[nodiscard]] RankPlace own_place();

[[nodiscard]] Hardware describe(const Gpu& gpu, Communicator& communicator, const RankPlace& place);

// Returns when both streams have run dry. Throws DeviceError when NCCL notices that a peer is gone.
void run_dry(const Gpu& gpu, const Communicator& communicator, Pulse& pulse);

}  // namespace ddpx::cuda
