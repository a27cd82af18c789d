// How the GPUs of one host reach each other, from what NVML says of them. A pure function of the
// answers, so that any box can be described in a test.
//
// Two users: the link's name and description in a measurements file, and its `context` (one pair
// per GPU and per kind of path).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cuda/nvml.hpp"
#include "profiler/measurement.hpp"

namespace ddpx::cuda {

struct GpuFacts {
  std::string name;
  std::string bus_id;
  int compute_capability = 0;  // 90; 0: not known
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
  std::optional<int> pcie_generation_max;  // of GPU and slot together
  std::optional<int> pcie_width_max;
  std::optional<int> numa_node;  // of the processor the GPU hangs on
  std::vector<NvLink> nvlinks;
};

struct PairFacts {
  int first = 0;  // positions in BoxFacts::gpus, first < second
  int second = 0;
  std::optional<Nearness> nearness;
  std::optional<std::string> p2p_obstacle;  // as Nvml::p2p_obstacle
};

struct BoxFacts {
  std::vector<GpuFacts> gpus;
  std::vector<PairFacts> pairs;
  // PCIe links fall back to generation 1 while a GPU idles. Only what was read while all of them
  // worked is the generation a copy runs at.
  bool under_load = false;
};

// What joins two GPUs, best first.
enum class Path { nvswitch, nvlink, same_board, pcie_switch, host_bridge, same_numa, across_numa };

struct GpuPlace {
  std::string name;
  std::string bus_id;
  std::optional<int> pcie_generation;  // at work: measured under load, else the most possible
  std::optional<int> pcie_width;
  std::optional<int> pcie_generation_max;
  std::optional<int> pcie_width_max;
  std::optional<int> numa_node;
  int nvlinks = 0;
  std::optional<int> nvlink_generation;
};

struct PairPath {
  int first = 0;
  int second = 0;
  std::optional<Path> path;  // nullopt: not known
  int nvlinks = 0;           // that join them, through switches or directly
  std::optional<std::string> p2p_obstacle;
};

struct Box {
  std::vector<GpuPlace> gpus;
  std::vector<PairPath> pairs;
  int compute_capability = 0;  // the lowest
};

[[nodiscard]] Box describe_box(const BoxFacts& facts);

// Reads the facts. The processor's node comes from the kernel, `pci_devices`/<bus id>/numa_node.
struct GatherOptions {
  std::vector<std::string> bus_ids;  // of the GPUs, in the order of the ranks
  std::vector<int> compute_capabilities;
  bool under_load = false;
  std::string pci_devices = "/sys/bus/pci/devices";
};
[[nodiscard]] BoxFacts gather_box(const Nvml& nvml, const GatherOptions& options);

// "nvlink4", "pcie5": what the bare family names mean here, for Device. Empty when unknown.
[[nodiscard]] std::string nvlink_family(const Box& box);
[[nodiscard]] std::string pcie_family(const Box& box);

// The way NCCL is told to take: directly between GPUs, or through host memory (NCCL_P2P_DISABLE).
enum class Route { direct, host_memory };

// The link all ranks share, named as in the table of interconnects ("nvlink4", "pcie5-p2p",
// "pcie4-x8"). A ring passes every GPU, so its worst pair names it. Peak is one direction: 25 GB/s
// per NVLink (50 from generation 5 on), or PCIe's lane rate times width. Channels and source are
// the caller's. nullopt for one GPU, or when not even PCIe's generation is known.
[[nodiscard]] std::optional<LinkDescription> link_of(const Box& box, Route route);

// "gpu0" "0000:19:00.0, PCIe gen5 x16, NUMA 0, nvlink4 x18", "pair0-1" "nvlink4 x18 through
// NVSwitch, P2P": equal pairs share one line, "pairs" when all are equal.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> context_of(const Box& box);

}  // namespace ddpx::cuda
