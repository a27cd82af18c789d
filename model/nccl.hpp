// What NCCL itself believes a collective costs: its model of every algorithm and protocol, by which
// it chooses one per message size. Here it is the prior for topologies that were not measured.
//
//   time = latency + bytes / bandwidth, the cheapest of all (algorithm, protocol)
//
// Source: NCCL src/graph/tuning.cc (2.30), its tables of latencies and ceilings included. What a
// `wire` can carry bounds the bandwidths besides: NCCL takes the search graph's word for it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/operation.hpp"

namespace ddpx {

enum class NcclAlgorithm { ring, tree, nvls };
enum class NcclProtocol { ll, ll128, simple };
enum class GpuGeneration { volta, ampere, hopper, blackwell };

[[nodiscard]] std::string_view name(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view name(NcclProtocol protocol);

// Of one NVLS head of Hopper (NCCL's topology search), in each of 8 GPUs.
inline constexpr BytesPerSecond kHopperNvlsHead{40e9};

struct NcclTopology {
  GpuGeneration generation = GpuGeneration::ampere;
  bool nvlink = true;  // inside a node; else PCIe and host memory
  int nodes = 1;
  int ranks_per_node = 2;
  int channels = 12;                 // of the search graph
  BytesPerSecond channel_inside{};   // one channel's, inside a node
  BytesPerSecond channel_between{};  // between nodes; more than two nodes only
  // What all NICs of one node carry in one direction; nullopt: as much as the channels.
  std::optional<BytesPerSecond> wire;
  // Of one hop between nodes, beyond NCCL's own figure for a network: sockets, EFA.
  Seconds hop_between{};
  // Measured over NCCL's latency inside a node, where two ranks were timed.
  double latency_scale = 1.0;
  // Bandwidth of one NVLS head (its switch reduces); nullopt: no NVSwitch that can.
  std::optional<BytesPerSecond> nvls_head;
};

struct NcclCost {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds latency{};
  BytesPerSecond bandwidth{};  // bytes of the call over time, not bus bandwidth
};

// Every algorithm and protocol that NCCL would consider for `kind`. Throws InputError for fewer
// than two ranks.
[[nodiscard]] std::vector<NcclCost> nccl_costs(Collective kind, const NcclTopology& topology);

// The time of one of them: latency, bytes over bandwidth and NCCL's corrections by size.
[[nodiscard]] Seconds nccl_time(const NcclCost& cost, Bytes bytes, const NcclTopology& topology);

// The one NCCL takes for `bytes`. `costs` must not be empty.
[[nodiscard]] const NcclCost& nccl_choice(std::span<const NcclCost> costs, Bytes bytes,
                                          const NcclTopology& topology);

}  // namespace ddpx
