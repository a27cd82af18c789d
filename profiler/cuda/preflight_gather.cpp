#include <sched.h>
#include <sys/statvfs.h>

#include "profiler/cuda/preflight.hpp"

namespace ddpx::cuda {

std::optional<double> free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  return static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
}

std::optional<int> allowed_cores() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  return CPU_COUNT(&allowed);
}

std::vector<GpuLoad> gather_loads(const Nvml& nvml, const std::vector<std::string>& bus_ids) {
  std::vector<GpuLoad> loads;
  for (const std::string& bus_id : bus_ids) {
    GpuLoad load;
    if (const auto gpu = nvml.gpu(bus_id)) {
      load.mig = nvml.mig(*gpu);
      load.processes = nvml.compute_processes(*gpu);
      load.utilization_percent = nvml.utilization_percent(*gpu);
      load.memory = nvml.memory(*gpu);
    }
    loads.push_back(load);
  }
  return loads;
}

}  // namespace ddpx::cuda
