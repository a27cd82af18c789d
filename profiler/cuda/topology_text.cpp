// A box in words: names of links, context of a file.

#include <algorithm>

#include "profiler/cuda/topology.hpp"

namespace ddpx::cuda {
namespace {

constexpr double kPeakPerNvLink = 25e9;   // generations 2 to 4, one direction (NVIDIA)
constexpr double kPeakPerNvLink5 = 50e9;  // and 5

// One lane, one direction: transfers per second times the share of data in the line code
// (8b/10b, 128b/130b; PCI-SIG).
std::optional<double> lane_bytes_per_s(int generation) {
  switch (generation) {
    case 1:
      return 2.5e9 * 0.8 / 8;
    case 2:
      return 5e9 * 0.8 / 8;
    case 3:
    case 4:
    case 5:
      return 8e9 * (1 << (generation - 3)) * (128.0 / 130.0) / 8;
    default:
      return std::nullopt;
  }
}

bool over_nvlink(const PairPath& pair) {
  return pair.path == Path::nvlink || pair.path == Path::nvswitch;
}

bool all_over_nvlink(const Box& box) {
  return !box.pairs.empty() && std::all_of(box.pairs.begin(), box.pairs.end(), over_nvlink);
}

template <class Member>
std::optional<int> lowest(const Box& box, Member member) {
  std::optional<int> found;
  for (const GpuPlace& gpu : box.gpus) {
    const std::optional<int> value = gpu.*member;
    if (!value) return std::nullopt;
    if (!found || *value < *found) found = value;
  }
  return found;
}

LinkDescription nvlink_of(const Box& box) {
  LinkDescription link;
  link.topology = Topology::nvlink;
  link.name = nvlink_family(box);
  const bool switched = box.pairs.front().path == Path::nvswitch;
  // Two GPUs have what joins them; in a mesh of more, each sends over all its links at once.
  int links = box.pairs.front().nvlinks;
  if (box.gpus.size() > 2) {
    links = box.gpus.front().nvlinks;
    for (const GpuPlace& gpu : box.gpus) links = std::min(links, gpu.nvlinks);
  }
  link.title = "NVLink " + std::to_string(*lowest(box, &GpuPlace::nvlink_generation)) + ", " +
               std::to_string(links) + (links == 1 ? " link" : " links") +
               (switched ? " through NVSwitch" : "");
  // Bridges between two cards have fewer links than the same generation's modules.
  constexpr int kLinksOfBridge4 = 12;
  if (!switched && box.compute_capability / 10 == 9 && links <= kLinksOfBridge4)
    link.name += "-bridge";
  if (!switched && box.compute_capability == 75) link.name += "-bridge";
  const bool fifth = link.name.starts_with("nvlink5");
  link.peak_bytes_per_s = links * (fifth ? kPeakPerNvLink5 : kPeakPerNvLink);
  return link;
}

std::string pcie_words(const GpuPlace& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie_width) return "PCIe unknown";
  std::string words =
      "PCIe gen" + std::to_string(*gpu.pcie_generation) + " x" + std::to_string(*gpu.pcie_width);
  const bool below = (gpu.pcie_generation_max && *gpu.pcie_generation_max > *gpu.pcie_generation) ||
                     (gpu.pcie_width_max && *gpu.pcie_width_max > *gpu.pcie_width);
  if (below) {
    words += " of gen" + std::to_string(gpu.pcie_generation_max.value_or(*gpu.pcie_generation)) +
             " x" + std::to_string(gpu.pcie_width_max.value_or(*gpu.pcie_width));
  }
  return words;
}

std::string gpu_words(const GpuPlace& gpu) {
  std::string words = gpu.bus_id + ", " + pcie_words(gpu);
  if (gpu.numa_node) words += ", NUMA " + std::to_string(*gpu.numa_node);
  if (gpu.nvlinks > 0) {
    words += ", nvlink" + (gpu.nvlink_generation ? std::to_string(*gpu.nvlink_generation) : "") +
             " x" + std::to_string(gpu.nvlinks);
  }
  return words;
}

std::string path_words(const Box& box, const PairPath& pair) {
  if (!pair.path) return "path unknown";
  switch (*pair.path) {
    case Path::nvswitch:
      return nvlink_family(box) + " x" + std::to_string(pair.nvlinks) + " through NVSwitch";
    case Path::nvlink:
      return nvlink_family(box) + " x" + std::to_string(pair.nvlinks) + " direct";
    case Path::same_board:
      return "one board";
    case Path::pcie_switch:
      return "PCIe switch";
    case Path::host_bridge:
      return "PCIe host bridge";
    case Path::same_numa:
      return "PCIe roots of one NUMA node";
    case Path::across_numa:
      return "across NUMA nodes";
  }
  return "path unknown";
}

std::string pair_words(const Box& box, const PairPath& pair) {
  std::string words = path_words(box, pair);
  if (!pair.p2p_obstacle) return words + ", P2P unknown";
  return words + (pair.p2p_obstacle->empty() ? ", P2P" : ", no P2P: " + *pair.p2p_obstacle);
}

// Words of pairs, each with the pairs that share them, in the order of their first pair.
std::vector<std::pair<std::string, std::vector<std::string>>> kinds_of_pairs(const Box& box) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (const PairPath& pair : box.pairs) {
    const std::string words = pair_words(box, pair);
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == words; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {words, {}});
    kind->second.push_back(std::to_string(pair.first) + "-" + std::to_string(pair.second));
  }
  return kinds;
}

}  // namespace

std::string nvlink_family(const Box& box) {
  const std::optional<int> generation = lowest(box, &GpuPlace::nvlink_generation);
  return generation ? "nvlink" + std::to_string(*generation) : "";
}

std::string pcie_family(const Box& box) {
  const std::optional<int> generation = lowest(box, &GpuPlace::pcie_generation);
  return generation ? "pcie" + std::to_string(*generation) : "";
}

std::optional<LinkDescription> link_of(const Box& box, Route route) {
  if (box.gpus.size() < 2) return std::nullopt;
  if (route == Route::direct && all_over_nvlink(box) && !nvlink_family(box).empty())
    return nvlink_of(box);
  const std::optional<int> generation = lowest(box, &GpuPlace::pcie_generation);
  const std::optional<int> width = lowest(box, &GpuPlace::pcie_width);
  if (!generation || !width) return std::nullopt;
  const bool p2p = route == Route::direct && !box.pairs.empty() &&
                   std::all_of(box.pairs.begin(), box.pairs.end(), [](const PairPath& pair) {
                     return pair.p2p_obstacle == std::string();
                   });
  LinkDescription link;
  link.topology = p2p ? Topology::pcie : Topology::pcie_host;
  link.name =
      pcie_family(box) + (*width < 16 ? "-x" + std::to_string(*width) : "") + (p2p ? "-p2p" : "");
  link.title = "PCIe " + std::to_string(*generation) + " x" + std::to_string(*width) +
               (p2p ? ", peer to peer" : ", through host memory");
  link.peak_bytes_per_s = lane_bytes_per_s(*generation).value_or(0) * *width;
  return link;
}

std::vector<std::pair<std::string, std::string>> context_of(const Box& box) {
  std::vector<std::pair<std::string, std::string>> context;
  for (std::size_t i = 0; i < box.gpus.size(); ++i)
    context.emplace_back("gpu" + std::to_string(i), gpu_words(box.gpus[i]));
  const auto kinds = kinds_of_pairs(box);
  for (const auto& [words, pairs] : kinds) {
    if (kinds.size() == 1 && pairs.size() > 1) {
      context.emplace_back("pairs", "all: " + words);
      continue;
    }
    std::string key = pairs.size() == 1 ? "pair" + pairs.front() : "pairs";
    for (std::size_t i = 0; pairs.size() > 1 && i < pairs.size(); ++i) key += " " + pairs[i];
    context.emplace_back(key, words);
  }
  return context;
}

}  // namespace ddpx::cuda
