// GPU ranks are a module of their own, loaded when they are asked for: the programs start, and
// forecast, where neither CUDA nor NCCL is installed, and no faster where they are.
#pragma once

#include "profiler/backend.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cuda {

// The module's symbols. Both throw DeviceError; the caller owns what it gets.
extern "C" {
Backend* ddpx_cuda_backend(Pulse& pulse, const BackendOptions& options);
engine::Device* ddpx_cuda_device(Pulse& pulse);
// GPUs visible to this process; 0 where there is no driver.
int ddpx_cuda_gpus();
}

inline constexpr const char* kModuleFile = "ddpx_cuda.so";

}  // namespace ddpx::cuda
