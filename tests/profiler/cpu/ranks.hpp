// Tests that every rank of an mpirun runs together: the device they share, and values of all ranks
// in each of them.
#pragma once

#include <vector>

#include "profiler/cpu/device.hpp"

namespace ddpx::cpu {

// This rank's. MPI starts once in a process, so the tests share it; ranks_main.cpp ends it.
[[nodiscard]] CpuDevice& shared_device();

// Every rank's values, in the order of ranks. Collective.
[[nodiscard]] std::vector<std::vector<float>> from_all_ranks(const std::vector<float>& mine);

}  // namespace ddpx::cpu
