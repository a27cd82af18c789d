// CPU ranks are a module of their own, loaded when they are asked for: the programs start, and
// forecast, where Open MPI and OpenBLAS are not installed, and faster where they are.
#pragma once

#include "profiler/backend.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cpu {

// The module's symbols. They throw DeviceError; the caller owns what it gets.
extern "C" {
Backend* ddpx_cpu_backend(Pulse& pulse);
engine::Device* ddpx_cpu_device(Pulse& pulse);
bool ddpx_cpu_supports(const Operation& operation, int ranks);
}

inline constexpr const char* kModuleFile = "ddpx_cpu.so";

}  // namespace ddpx::cpu
