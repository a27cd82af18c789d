#include "profiler/cpu/device.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {

std::unique_ptr<engine::Device> make_shared_device(Pulse& pulse) {
  return std::make_unique<cpu::CpuDevice>(pulse);
}

double device_bytes() { return 0; }

}  // namespace ddpx::test
