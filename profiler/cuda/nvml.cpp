#include "profiler/cuda/nvml.hpp"

#include <dlfcn.h>

namespace ddpx::cuda {
namespace {

// Values and layouts of NVML's stable interface, by NVIDIA's API reference.
constexpr int kInsufficientSize = 7;
constexpr unsigned kTextLength = 96;  // the longest of the texts asked for, a name
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
struct Utilization {
  unsigned gpu, memory;
};

struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

std::variant<Nvml, std::string> Nvml::load() {
  std::shared_ptr<void> library(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL),
                                [](void* handle) {
                                  if (handle != nullptr) ::dlclose(handle);
                                });
  if (!library) {
    const char* const why = ::dlerror();
    return "NVML cannot be loaded (" + std::string(why ? why : "libnvidia-ml.so.1") +
           "): clocks, power and links are unknown";
  }
  return open([library](const char* name) { return ::dlsym(library.get(), name); });
}

std::variant<Nvml, std::string> Nvml::open(Symbols symbols) {
  Nvml nvml(std::move(symbols));
  const std::optional<int> status = nvml.status("nvmlInit_v2");
  if (!status) return "NVML has no nvmlInit_v2: the driver is too old for clocks, power and links";
  if (*status != 0) {
    std::string why = "status " + std::to_string(*status);
    if (void* const address = nvml.symbols_("nvmlErrorString")) {
      if (const char* word = reinterpret_cast<const char* (*)(int)>(address)(*status)) why = word;
    }
    return "NVML does not start (" + why + "): clocks, power and links are unknown";
  }
  nvml.session_ = std::shared_ptr<void>(nullptr, [symbols = nvml.symbols_](void*) {
    if (void* const address = symbols("nvmlShutdown")) reinterpret_cast<int (*)()>(address)();
  });
  return nvml;
}

std::optional<int> Nvml::number(const char* function, Gpu gpu) const {
  unsigned value = 0;
  if (!succeeds(function, gpu, &value)) return std::nullopt;
  return static_cast<int>(value);
}

std::optional<std::string> Nvml::text(const char* function, Gpu gpu) const {
  char value[kTextLength + 1] = {};  // ends, whatever the library wrote
  if (!succeeds(function, gpu, &value[0], kTextLength)) return std::nullopt;
  return value;
}

std::optional<std::string> Nvml::driver_version() const {
  char value[kTextLength + 1] = {};  // ends, whatever the library wrote
  if (!succeeds("nvmlSystemGetDriverVersion", &value[0], kTextLength)) return std::nullopt;
  return value;
}

std::optional<int> Nvml::cuda_version() const {
  int value = 0;
  if (!succeeds("nvmlSystemGetCudaDriverVersion_v2", &value)) return std::nullopt;
  return value;
}

int Nvml::count() const {
  unsigned value = 0;
  return succeeds("nvmlDeviceGetCount_v2", &value) ? static_cast<int>(value) : 0;
}

std::optional<Nvml::Gpu> Nvml::gpu(int index) const {
  Gpu handle = nullptr;
  if (!succeeds("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(index), &handle))
    return std::nullopt;
  return handle;
}

std::optional<Nvml::Gpu> Nvml::gpu(const std::string& bus_id) const {
  Gpu handle = nullptr;
  if (!succeeds("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &handle)) return std::nullopt;
  return handle;
}

std::optional<std::string> Nvml::name(Gpu gpu) const { return text("nvmlDeviceGetName", gpu); }
std::optional<std::string> Nvml::uuid(Gpu gpu) const { return text("nvmlDeviceGetUUID", gpu); }

GpuState Nvml::state(Gpu gpu) const {
  GpuState state;
  unsigned value = 0;
  if (succeeds("nvmlDeviceGetClockInfo", gpu, kClockSm, &value)) state.sm_mhz = value;
  if (succeeds("nvmlDeviceGetClockInfo", gpu, kClockMemory, &value)) state.memory_mhz = value;
  if (succeeds("nvmlDeviceGetPowerUsage", gpu, &value)) state.watts = value / 1000.0;
  if (succeeds("nvmlDeviceGetEnforcedPowerLimit", gpu, &value)) state.limit_watts = value / 1000.0;
  if (succeeds("nvmlDeviceGetTemperature", gpu, 0U, &value)) state.celsius = value;
  unsigned long long reasons = 0;
  // The older name is the same function; drivers before 535 have no other.
  if (succeeds("nvmlDeviceGetCurrentClocksEventReasons", gpu, &reasons) ||
      succeeds("nvmlDeviceGetCurrentClocksThrottleReasons", gpu, &reasons)) {
    state.throttle_reasons = reasons;
  }
  return state;
}

std::optional<bool> Nvml::mig(Gpu gpu) const {
  unsigned current = 0;
  unsigned pending = 0;
  if (!succeeds("nvmlDeviceGetMigMode", gpu, &current, &pending)) return std::nullopt;
  return current != 0;
}

std::optional<int> Nvml::compute_processes(Gpu gpu) const {
  unsigned count = 0;
  void* const no_list = nullptr;
  const auto answer = status("nvmlDeviceGetComputeRunningProcesses_v3", gpu, &count, no_list);
  if (answer != 0 && answer != kInsufficientSize) return std::nullopt;
  return static_cast<int>(count);
}

std::optional<int> Nvml::utilization_percent(Gpu gpu) const {
  Utilization used{};
  if (!succeeds("nvmlDeviceGetUtilizationRates", gpu, &used)) return std::nullopt;
  return static_cast<int>(used.gpu);
}

std::optional<GpuMemory> Nvml::memory(Gpu gpu) const {
  Memory memory{};
  if (!succeeds("nvmlDeviceGetMemoryInfo", gpu, &memory)) return std::nullopt;
  return GpuMemory{static_cast<double>(memory.total), static_cast<double>(memory.used)};
}

}  // namespace ddpx::cuda
