#include "profiler/cpu/module.hpp"

#include "profiler/cpu/backend.hpp"
#include "profiler/cpu/device.hpp"
#include "profiler/cpu/workload.hpp"

namespace ddpx::cpu {

extern "C" {

Backend* ddpx_cpu_backend(Pulse& pulse) { return new CpuBackend(pulse); }

engine::Device* ddpx_cpu_device(Pulse& pulse) { return new CpuDevice(pulse); }

bool ddpx_cpu_supports(const Operation& operation, int ranks) {
  return Workload::supports(operation, ranks);
}

}  // extern "C"

}  // namespace ddpx::cpu
