#include "profiler/cuda/topology.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>

namespace ddpx::cuda {
namespace {

// "00000000:19:00.0" of NVML and "0000:19:00.0" of CUDA and the kernel name one device: lower case,
// domain of four digits.
std::string plain_bus_id(std::string id) {
  for (char& c : id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t colon = id.find(':');
  if (colon != std::string::npos && colon > 4 && id.find_first_not_of('0') >= colon - 4)
    id.erase(0, colon - 4);
  return id;
}

// The compute capability decides, NVML's code fills in: a driver was seen to report version 5.0 for
// links of an H100.
std::optional<int> generation_of(const GpuFacts& gpu) {
  if (gpu.nvlinks.empty()) return std::nullopt;
  switch (gpu.compute_capability / 10) {
    case 6:
      return 1;
    case 7:
      return 2;
    case 8:
      return 3;
    case 9:
      return 4;
    case 10:
      return 5;
    default:
      break;
  }
  const std::optional<int> code = gpu.nvlinks.front().version;
  return code ? nvlink_generation(*code) : std::nullopt;
}

int links_to(const GpuFacts& gpu, FarEnd end, const std::string& bus_id) {
  const std::string wanted = plain_bus_id(bus_id);
  return static_cast<int>(
      std::count_if(gpu.nvlinks.begin(), gpu.nvlinks.end(), [&](const NvLink& link) {
        if (end == FarEnd::nvswitch) return link.far_end == end;
        return link.far_end != FarEnd::nvswitch && plain_bus_id(link.far_bus_id) == wanted;
      }));
}

std::optional<Path> pcie_path(std::optional<Nearness> nearness) {
  if (!nearness) return std::nullopt;
  switch (*nearness) {
    case Nearness::same_board:
      return Path::same_board;
    case Nearness::one_switch:
    case Nearness::switches:
      return Path::pcie_switch;
    case Nearness::host_bridge:
      return Path::host_bridge;
    case Nearness::same_numa:
      return Path::same_numa;
    case Nearness::across_numa:
      return Path::across_numa;
  }
  return std::nullopt;
}

PairPath path_of(const BoxFacts& facts, const PairFacts& pair) {
  const GpuFacts& a = facts.gpus.at(static_cast<std::size_t>(pair.first));
  const GpuFacts& b = facts.gpus.at(static_cast<std::size_t>(pair.second));
  PairPath path{pair.first, pair.second, pcie_path(pair.nearness), 0, pair.p2p_obstacle};
  const int direct =
      std::max(links_to(a, FarEnd::gpu, b.bus_id), links_to(b, FarEnd::gpu, a.bus_id));
  const int switched =
      std::min(links_to(a, FarEnd::nvswitch, ""), links_to(b, FarEnd::nvswitch, ""));
  if (direct > 0) {
    path.path = Path::nvlink;
    path.nvlinks = direct;
  } else if (switched > 0) {
    path.path = Path::nvswitch;
    path.nvlinks = switched;
  }
  return path;
}

std::optional<int> kernel_numa_node(const std::string& pci_devices, const std::string& bus_id) {
  const std::string file = pci_devices + "/" + plain_bus_id(bus_id) + "/numa_node";
  const std::unique_ptr<FILE, int (*)(FILE*)> stream(std::fopen(file.c_str(), "r"), &std::fclose);
  int node = 0;
  if (!stream || std::fscanf(stream.get(), "%d", &node) != 1) return std::nullopt;
  return node >= 0 ? std::optional(node) : std::nullopt;  // -1: the kernel does not know
}

}  // namespace

Box describe_box(const BoxFacts& facts) {
  Box box;
  for (const GpuFacts& gpu : facts.gpus) {
    GpuPlace place;
    place.name = gpu.name;
    place.bus_id = gpu.bus_id;
    place.pcie_generation =
        facts.under_load && gpu.pcie_generation ? gpu.pcie_generation : gpu.pcie_generation_max;
    place.pcie_width = gpu.pcie_width ? gpu.pcie_width : gpu.pcie_width_max;
    place.pcie_generation_max = gpu.pcie_generation_max;
    place.pcie_width_max = gpu.pcie_width_max;
    place.numa_node = gpu.numa_node;
    place.nvlinks = static_cast<int>(gpu.nvlinks.size());
    place.nvlink_generation = generation_of(gpu);
    box.gpus.push_back(std::move(place));
    if (box.compute_capability == 0 || gpu.compute_capability < box.compute_capability)
      box.compute_capability = gpu.compute_capability;
  }
  for (const PairFacts& pair : facts.pairs) box.pairs.push_back(path_of(facts, pair));
  return box;
}

BoxFacts gather_box(const Nvml& nvml, const GatherOptions& options) {
  BoxFacts facts;
  facts.under_load = options.under_load;
  std::vector<std::optional<Nvml::Gpu>> handles;
  for (std::size_t i = 0; i < options.bus_ids.size(); ++i) {
    GpuFacts gpu;
    gpu.bus_id = options.bus_ids[i];
    if (i < options.compute_capabilities.size())
      gpu.compute_capability = options.compute_capabilities[i];
    gpu.numa_node = kernel_numa_node(options.pci_devices, gpu.bus_id);
    const std::optional<Nvml::Gpu> handle = nvml.gpu(gpu.bus_id);
    handles.push_back(handle);
    if (handle) {
      gpu.name = nvml.name(*handle).value_or("");
      gpu.pcie_generation = nvml.pcie_generation(*handle);
      gpu.pcie_width = nvml.pcie_width(*handle);
      gpu.pcie_generation_max = nvml.pcie_generation_max(*handle);
      gpu.pcie_width_max = nvml.pcie_width_max(*handle);
      gpu.nvlinks = nvml.nvlinks(*handle);
    }
    facts.gpus.push_back(std::move(gpu));
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    for (std::size_t j = i + 1; j < handles.size(); ++j) {
      PairFacts pair{static_cast<int>(i), static_cast<int>(j), std::nullopt, std::nullopt};
      if (handles[i] && handles[j]) {
        pair.nearness = nvml.nearness(*handles[i], *handles[j]);
        pair.p2p_obstacle = nvml.p2p_obstacle(*handles[i], *handles[j]);
      }
      facts.pairs.push_back(std::move(pair));
    }
  }
  return facts;
}

}  // namespace ddpx::cuda
