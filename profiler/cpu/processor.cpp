#include "profiler/cpu/processor.hpp"

#include <cblas.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ddpx::cpu {
namespace {

// "model name" of /proc/cpuinfo on x86; Arm often has none.
std::string processor_name() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/cpuinfo", "r"), &std::fclose);
  if (!file) return "CPU";
  char line[512];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    const std::string text(line);
    const std::size_t colon = text.find(": ");
    if (text.starts_with("model name") && colon != std::string::npos)
      return text.substr(colon + 2, text.find_last_not_of(" \n") - colon - 1);
  }
  return "CPU";
}

}  // namespace

void take_core(int rank_on_host) {
  openblas_set_num_threads(1);
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  if (cores.empty()) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cores[static_cast<std::size_t>(rank_on_host) % cores.size()], &own);
  // Refused where the container forbids it: the scheduler then keeps ranks apart well enough.
  static_cast<void>(::sched_setaffinity(0, sizeof own, &own));
}

Device describe_core() {
  Device device;
  device.name = processor_name() + ", one core";
  device.memory = Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGE_SIZE)));
  return device;
}

}  // namespace ddpx::cpu
