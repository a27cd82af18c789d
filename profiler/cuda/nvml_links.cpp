// Answers about PCIe, NVLink and pairs of GPUs.

#include "profiler/cuda/nvml.hpp"

namespace ddpx::cuda {
namespace {

constexpr unsigned kMostLinks = 18;
constexpr unsigned kCapsRead = 0;
constexpr unsigned kCapsWrite = 1;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// A text of at most `size` bytes, also when the library left no end in it.
std::string bounded(const char* text, std::size_t size) {
  std::string result(text, size);
  return result.substr(0, result.find('\0'));
}

const char* p2p_word(unsigned status) {
  switch (status) {
    case 1:
      return "the chipset does not support it";
    case 2:
      return "the GPU does not support it";
    case 3:
      return "no path between the two PCIe roots";
    case 4:
      return "switched off in the driver";
    case 5:
      return "not supported";
    default:
      return "unknown reason";
  }
}

}  // namespace

std::optional<std::string> Nvml::bus_id(Gpu gpu) const {
  PciInfo info{};
  if (!succeeds("nvmlDeviceGetPciInfo_v3", gpu, &info)) return std::nullopt;
  return bounded(info.bus_id, sizeof info.bus_id);
}

std::optional<int> Nvml::pcie_generation(Gpu gpu) const {
  return number("nvmlDeviceGetCurrPcieLinkGeneration", gpu);
}
std::optional<int> Nvml::pcie_width(Gpu gpu) const {
  return number("nvmlDeviceGetCurrPcieLinkWidth", gpu);
}
std::optional<int> Nvml::pcie_generation_max(Gpu gpu) const {
  return number("nvmlDeviceGetMaxPcieLinkGeneration", gpu);
}
std::optional<int> Nvml::pcie_width_max(Gpu gpu) const {
  return number("nvmlDeviceGetMaxPcieLinkWidth", gpu);
}
std::optional<int> Nvml::memory_numa_node(Gpu gpu) const {
  const std::optional<int> node = number("nvmlDeviceGetNumaNodeId", gpu);
  return node && *node >= 0 ? node : std::nullopt;  // -1: the memory is no node
}

std::vector<NvLink> Nvml::nvlinks(Gpu gpu) const {
  std::vector<NvLink> links;
  for (unsigned i = 0; i < kMostLinks; ++i) {
    int up = 0;
    if (!succeeds("nvmlDeviceGetNvLinkState", gpu, i, &up) || up == 0) continue;
    NvLink link;
    unsigned version = 0;
    if (succeeds("nvmlDeviceGetNvLinkVersion", gpu, i, &version))
      link.version = static_cast<int>(version);
    int type = 0;
    if (succeeds("nvmlDeviceGetNvLinkRemoteDeviceType", gpu, i, &type))
      link.far_end = type == 0 ? FarEnd::gpu : type == 2 ? FarEnd::nvswitch : FarEnd::other;
    PciInfo info{};
    if (succeeds("nvmlDeviceGetNvLinkRemotePciInfo_v2", gpu, i, &info))
      link.far_bus_id = bounded(info.bus_id, sizeof info.bus_id);
    links.push_back(std::move(link));
  }
  return links;
}

std::optional<Nearness> Nvml::nearness(Gpu a, Gpu b) const {
  int level = 0;
  if (!succeeds("nvmlDeviceGetTopologyCommonAncestor", a, b, &level)) return std::nullopt;
  switch (level) {
    case 0:
      return Nearness::same_board;
    case 10:
      return Nearness::one_switch;
    case 20:
      return Nearness::switches;
    case 30:
      return Nearness::host_bridge;
    case 40:
      return Nearness::same_numa;
    case 50:
      return Nearness::across_numa;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> Nvml::p2p_obstacle(Gpu a, Gpu b) const {
  for (const unsigned capability : {kCapsRead, kCapsWrite}) {
    unsigned status = 0;
    if (!succeeds("nvmlDeviceGetP2PStatus", a, b, capability, &status)) return std::nullopt;
    if (status != 0) return p2p_word(status);
  }
  return "";
}

}  // namespace ddpx::cuda
