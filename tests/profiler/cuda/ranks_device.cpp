#include "profiler/cuda/check.hpp"
#include "profiler/cuda/device.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {

std::unique_ptr<engine::Device> make_shared_device(Pulse& pulse) {
  return std::make_unique<cuda::CudaDevice>(pulse);
}

double device_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  cuda::check(cudaMemGetInfo(&free, &all), "asking for free memory");
  return static_cast<double>(all - free);
}

}  // namespace ddpx::test
