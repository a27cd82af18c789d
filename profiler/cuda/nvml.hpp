// What the driver says of the GPUs: clocks, power, links, who else is there. NVML comes with the
// driver, so it is loaded at run time, by our own declarations of its stable C interface (NVIDIA,
// "NVML API Reference Guide"); nothing here needs a toolkit.
//
// Every answer is optional: a function the driver does not have, or that this GPU, this container
// or this user is refused, is nullopt. An answer that is missing never stops a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddpx::cuda {

// The address of a function of the library by its name, nullptr where it has none. Tests give
// functions of their own.
using Symbols = std::function<void*(const char*)>;

enum class FarEnd { gpu, nvswitch, other };

// One NVLink of a GPU that is up.
struct NvLink {
  std::optional<int> version;  // NVML's code, see nvlink_generation
  std::optional<FarEnd> far_end;
  std::string far_bus_id;  // empty where the far end has none
};

// How two GPUs are near: NVML's common ancestor.
enum class Nearness { same_board, one_switch, switches, host_bridge, same_numa, across_numa };

struct GpuMemory {
  double total_bytes = 0;
  double used_bytes = 0;
};

// What NVML says of one GPU at one moment.
struct GpuState {
  std::optional<double> sm_mhz;
  std::optional<double> memory_mhz;
  std::optional<double> watts;
  std::optional<double> limit_watts;
  std::optional<double> celsius;
  std::optional<std::uint64_t> throttle_reasons;
};

// NVML's reasons as words, in the order of their bits; unknown bits as "reason 0x...". The second
// form leaves out what slows nothing that runs: idle, and clocks that the user set.
[[nodiscard]] std::vector<std::string> throttle_words(std::uint64_t reasons);
[[nodiscard]] std::vector<std::string> slowing_words(std::uint64_t reasons);

// "2", "3", ... of NVML's code for a link's version; nullopt for a code that is not known.
[[nodiscard]] std::optional<int> nvlink_generation(int nvml_version);

class Nvml {
 public:
  using Gpu = void*;

  // NVML of this machine's driver, or in one line why there is none.
  [[nodiscard]] static std::variant<Nvml, std::string> load();
  [[nodiscard]] static std::variant<Nvml, std::string> open(Symbols symbols);

  [[nodiscard]] std::optional<std::string> driver_version() const;
  [[nodiscard]] std::optional<int> cuda_version() const;  // 13000: the driver's, as CUDA counts

  [[nodiscard]] int count() const;
  [[nodiscard]] std::optional<Gpu> gpu(int index) const;
  // "0000:19:00.0", as cudaDeviceGetPCIBusId writes it: NVML counts GPUs that CUDA does not see.
  [[nodiscard]] std::optional<Gpu> gpu(const std::string& bus_id) const;

  [[nodiscard]] std::optional<std::string> name(Gpu gpu) const;
  [[nodiscard]] std::optional<std::string> uuid(Gpu gpu) const;
  [[nodiscard]] std::optional<std::string> bus_id(Gpu gpu) const;
  [[nodiscard]] GpuState state(Gpu gpu) const;
  [[nodiscard]] std::optional<bool> mig(Gpu gpu) const;
  [[nodiscard]] std::optional<int> compute_processes(Gpu gpu) const;
  [[nodiscard]] std::optional<int> utilization_percent(Gpu gpu) const;
  [[nodiscard]] std::optional<GpuMemory> memory(Gpu gpu) const;
  [[nodiscard]] std::optional<int> pcie_generation(Gpu gpu) const;
  [[nodiscard]] std::optional<int> pcie_width(Gpu gpu) const;
  [[nodiscard]] std::optional<int> pcie_generation_max(Gpu gpu) const;
  [[nodiscard]] std::optional<int> pcie_width_max(Gpu gpu) const;
  // The node the GPU's own memory is, where it is one (Grace); not the processor beside it.
  [[nodiscard]] std::optional<int> memory_numa_node(Gpu gpu) const;
  [[nodiscard]] std::vector<NvLink> nvlinks(Gpu gpu) const;
  [[nodiscard]] std::optional<Nearness> nearness(Gpu a, Gpu b) const;
  // nullopt: not asked or not known; empty: P2P reads and writes work; else why they do not.
  [[nodiscard]] std::optional<std::string> p2p_obstacle(Gpu a, Gpu b) const;

 private:
  explicit Nvml(Symbols symbols) : symbols_(std::move(symbols)) {}

  // NVML's status of calling `function`; nullopt where the library does not have it.
  template <class... Arguments>
  [[nodiscard]] std::optional<int> status(const char* function, Arguments... arguments) const {
    void* const address = symbols_(function);
    if (address == nullptr) return std::nullopt;
    return reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
  }
  template <class... Arguments>
  [[nodiscard]] bool succeeds(const char* function, Arguments... arguments) const {
    return status(function, arguments...) == 0;
  }
  [[nodiscard]] std::optional<int> number(const char* function, Gpu gpu) const;
  [[nodiscard]] std::optional<std::string> text(const char* function, Gpu gpu) const;

  Symbols symbols_;
  std::shared_ptr<void> session_;  // nvmlShutdown, then the library, when the last copy goes
};

}  // namespace ddpx::cuda
