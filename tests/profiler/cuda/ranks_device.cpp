#include "profiler/cuda/device.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {

std::unique_ptr<engine::Device> make_shared_device(Pulse& pulse) {
  return std::make_unique<cuda::CudaDevice>(pulse);
}

}  // namespace ddpx::test
