// Tests that every rank of a job runs together: the device they share, and values of all ranks in
// each of them. Each backend with ranks of its own makes the device (cpu/ranks_device.cpp, ...).
#pragma once

#include <memory>
#include <vector>

#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::test {

[[nodiscard]] std::unique_ptr<engine::Device> make_shared_device(Pulse& pulse);

// Memory in use on this rank's device, whoever uses it; 0 where it is the host's.
[[nodiscard]] double device_bytes();
// Resident memory of this process.
[[nodiscard]] double host_bytes();

// This rank's. Libraries start once in a process, so the tests share it; ranks_main.cpp ends it.
[[nodiscard]] engine::Device& shared_device();

// Every rank's values, in the order of ranks. Collective.
[[nodiscard]] std::vector<std::vector<float>> from_all_ranks(const std::vector<float>& mine);

// Whether all ranks hold these values. Collective.
[[nodiscard]] bool same_on_all_ranks(const std::vector<double>& values);

}  // namespace ddpx::test
