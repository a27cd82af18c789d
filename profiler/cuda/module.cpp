#include "profiler/cuda/module.hpp"

#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/device.hpp"

namespace ddpx::cuda {

extern "C" {

Backend* ddpx_cuda_backend(Pulse& pulse, const BackendOptions& options) {
  return new CudaBackend(pulse, options);
}

engine::Device* ddpx_cuda_device(Pulse& pulse) { return new CudaDevice(pulse); }

int ddpx_cuda_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  static_cast<void>(cudaGetLastError());
  return count;
}

}  // extern "C"

}  // namespace ddpx::cuda
