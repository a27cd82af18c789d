#include "model/two_level.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "model/error.hpp"
#include "model/scaled_link.hpp"
#include "model/tree_wire.hpp"

namespace ddpx {
namespace {

constexpr Bytes kLarge{1 << 30};
constexpr double kSmallestSize = 1024;
constexpr double kLargestSize = 8.0 * (1 << 30);
// Channels of NCCL's search graph: 12 over an NVSwitch (H200), 2 through PCIe and host memory.
constexpr int kNvlinkChannels = 12;
constexpr int kPcieChannels = 2;
// Two ranks, LL ring: 6.6 us and two hops of 2.7 us between nodes, 0.6 or 1.0 us inside
// (tuning.cc).
constexpr double kPairBetween = 12.0e-6;
constexpr double kPairNvlink = 7.8e-6;
constexpr double kPairPcie = 8.6e-6;
// A measured latency of two ranks says no more about many: the least that the table of links has.
constexpr double kLeastLatencyError = 0.12;

constexpr const char* kInside = "--link";
constexpr const char* kBetween = "--inter-link";

// The smallest all-reduce on two ranks: of more, carried to two as `topology` is. `flag` names the
// link.
Estimate<Seconds> pair_latency(const Link& link, Topology topology, const char* flag) {
  if (link.latency.value.value() > 0) return link.latency;
  for (const Curve& curve : link.curves) {
    if (curve.kind != Collective::all_reduce) continue;
    Estimate<Seconds> latency = latency_on(link, curve, topology);
    latency.value = latency.value * carried_latency(carry_over(topology, link.peak),
                                                    {curve.kind, curve.ranks}, {curve.kind, 2});
    return latency;
  }
  throw InputError(flag,
                   "'" + link.name + "' has no latency of an all_reduce; measure one on two ranks");
}

BytesPerSecond bandwidth_of(const Link& link, const char* flag) {
  const BytesPerSecond bandwidth = link.bus_bandwidth();
  if (bandwidth.value() > 0) return bandwidth;
  throw InputError(
      flag, "'" + link.name + "' has no bandwidth of an all_reduce; measure one on two ranks");
}

// What one NIC of `between` carries, or all of a node where it was measured over such nodes: what a
// tree counted more than the wire's is taken off.
BytesPerSecond wire_of(const Link& between) {
  const BytesPerSecond bus = bandwidth_of(between, kBetween);
  const auto curve = std::find_if(between.curves.begin(), between.curves.end(),
                                  [](const Curve& c) { return c.kind == Collective::all_reduce; });
  if (curve == between.curves.end()) return bus;
  const int hosts = between.hosts_of(*curve).value_or(1);
  return hosts < 2 ? bus : bus / most_over_wire(hosts, curve->ranks);
}

// A large all-reduce of the GPUs of a node. Rings and trees over several nodes do not use the
// switch's adding.
CollectivePrice price_inside(const Link& inside, int gpus) {
  return price(inside, {Collective::all_reduce, DType::fp32, kLarge, gpus}, InSwitch::no);
}

BytesPerSecond inside_bandwidth(const Link& inside, int gpus) {
  return kLarge / price_inside(inside, gpus).time * bus_factor(Collective::all_reduce, gpus);
}

// By the rate of its NVLink generation, which is what the ceilings go with.
GpuGeneration generation_of(const Link& inside, BytesPerSecond bandwidth) {
  if (inside.topology != Topology::nvlink) return GpuGeneration::ampere;
  if (bandwidth.value() < 160e9) return GpuGeneration::volta;
  if (bandwidth.value() < 260e9) return GpuGeneration::ampere;
  return bandwidth.value() < 460e9 ? GpuGeneration::hopper : GpuGeneration::blackwell;
}

// NICs of a node.
int wires_of(const Link& between, const NodeLayout& layout, std::optional<int> nics) {
  return nics.value_or(between.per_gpu ? layout.gpus_per_node : 1);
}

std::string nics_text(const Link& between, const NodeLayout& layout, std::optional<int> nics) {
  const int count = wires_of(between, layout, nics);
  return std::to_string(count) + (count == 1 ? " NIC" : " NICs") + " a node" +
         (nics ? "" : " assumed");
}

std::string node_text(const NodeLayout& layout) {
  return std::to_string(layout.nodes) + " nodes of " + std::to_string(layout.gpus_per_node);
}

}  // namespace

NcclTopology nccl_topology(const Link& inside, const Link& between, const NodeLayout& layout,
                           std::optional<int> nics) {
  if (layout.nodes < 2 || layout.gpus_per_node < 1)
    throw InputError("--gpus", node_text(layout) + ": needs at least two nodes of one GPU");
  NcclTopology topology;
  topology.nodes = layout.nodes;
  topology.ranks_per_node = layout.gpus_per_node;
  topology.nvlink = inside.topology == Topology::nvlink;
  topology.channels = topology.nvlink ? kNvlinkChannels : kPcieChannels;
  const BytesPerSecond wire =
      wire_of(between) * static_cast<double>(wires_of(between, layout, nics));
  topology.wire = wire;
  const BytesPerSecond node =
      layout.gpus_per_node > 1 ? inside_bandwidth(inside, layout.gpus_per_node) : wire * 2.0;
  topology.channel_inside = node / static_cast<double>(topology.channels);
  topology.channel_between = topology.channel_inside;
  topology.generation = generation_of(inside, node);
  topology.hop_between = Seconds(std::max(
      0.0, (pair_latency(between, Topology::network, kBetween).value.value() - kPairBetween) / 2));
  if (layout.gpus_per_node > 1)
    topology.latency_scale = pair_latency(inside, inside.topology, kInside).value.value() /
                             (topology.nvlink ? kPairNvlink : kPairPcie);
  return topology;
}

namespace {

// What small messages take longer where NCCL runs rings only, in logarithms: before 2.4 it had no
// trees, and settings (NCCL_ALGO, once NCCL_TREE_THRESHOLD=0) turn them off. Which it is, is not
// known: half of it is one standard error.
double without_trees(std::span<const NcclCost> costs, Bytes bytes, const NcclTopology& topology) {
  double ring = std::numeric_limits<double>::infinity();
  for (const NcclCost& cost : costs) {
    if (cost.algorithm == NcclAlgorithm::ring)
      ring = std::min(ring, nccl_time(cost, bytes, topology).value());
  }
  return std::log(ring / nccl_time(nccl_choice(costs, bytes, topology), bytes, topology).value());
}

// One standard error of the smallest message between the nodes, and of a large one; and whether
// what is inside a node was measured on fewer or more ranks.
struct Unsure {
  double latency = 0;
  double bandwidth = 0;
  bool carried = false;
};

// Curves of `kinds` by NCCL's model of `topology`.
void add_curves(Link& link, const NcclTopology& topology, const Unsure& unsure,
                std::initializer_list<Collective> kinds) {
  link.curves.reserve(kinds.size());
  for (const Collective kind : kinds) {
    const std::vector<NcclCost> costs = nccl_costs(kind, topology);
    std::vector<CurvePoint> points;
    double last = 0;
    for (double bytes = kSmallestSize; bytes <= kLargestSize; bytes *= 2) {
      const Bytes size(bytes);
      // NCCL's corrections step down at some sizes; a larger message is never given a shorter time.
      last = std::max(last, nccl_time(nccl_choice(costs, size, topology), size, topology).value());
      points.push_back({size, Seconds(last), false, ""});
    }
    const int ranks = topology.nodes * topology.ranks_per_node;
    Curve& curve = link.curves.emplace_back(CollectiveCall{kind, DType::fp32, Bytes{}, ranks},
                                            std::vector<ProtocolLine>{}, std::move(points));
    const double ring = std::expm1(without_trees(costs, Bytes(kSmallestSize), topology) / 2);
    curve.latency_error = std::hypot(unsure.latency, ring);
    curve.relative_error = unsure.bandwidth;
    curve.carried = unsure.carried;
  }
}

// One GPU of every node, all of a node's at once: each has its share of the wire.
Link between_nodes(const Link& between, const NcclTopology& cluster, const Unsure& unsure) {
  NcclTopology topology = cluster;
  topology.ranks_per_node = 1;
  topology.wire = *cluster.wire / static_cast<double>(cluster.ranks_per_node);
  topology.channel_inside = *topology.wire * 2.0 / static_cast<double>(topology.channels);
  topology.channel_between = topology.channel_inside;
  topology.latency_scale = 1.0;
  Link link;
  link.name = between.name;
  link.title = between.title;
  link.topology = Topology::network;
  link.latency = between.latency;
  link.bandwidth = {*topology.wire, between.bandwidth.relative_error, between.bandwidth.origin};
  link.peak = between.peak * (*topology.wire / wire_of(between));
  link.channels = between.channels;
  link.source = between.source;
  // Replicas of shards exchange nothing else between nodes.
  add_curves(link, topology, unsure, {Collective::all_reduce});
  return link;
}

// One GPU of each node: nothing travels inside one, and what joins them is what `between` is of,
// one rank on each NIC.
Link alone_on_nodes(const Link& between, const NodeLayout& layout, std::optional<int> nics) {
  if (layout.nodes < 2)
    throw InputError("--gpus", node_text(layout) + ": needs at least two nodes of one GPU");
  static_cast<void>(bandwidth_of(between, kBetween));
  static_cast<void>(pair_latency(between, Topology::network, kBetween));
  Link link = nics ? with_bandwidth(between, *nics) : between;
  link.topology = Topology::network;
  return link;
}

}  // namespace

Link two_level(const Link& inside, const Link& between, const NodeLayout& layout,
               std::optional<int> nics, double error) {
  // A link by figures only: a log of two hosts may not say that they were two.
  const bool of_slots =
      between.topology == Topology::pcie || between.topology == Topology::pcie_host;
  if (of_slots && between.curves.empty() && between.bandwidth.value.value() > 0) {
    throw InputError(kBetween, "'" + between.name +
                                   "' joins the GPUs of one host and no nodes; name a network "
                                   "(--list-links), or its figures, as 12GB/s,20us");
  }
  if (layout.gpus_per_node == 1) return alone_on_nodes(between, layout, nics);
  const NcclTopology topology = nccl_topology(inside, between, layout, nics);
  Link link;
  link.name = inside.name + "+" + between.name;
  link.title = node_text(layout) + ": " + inside.name + " inside, " + between.name + " between, " +
               nics_text(between, layout, nics);
  link.topology = Topology::network;
  link.latency = between.latency;
  link.bandwidth = {*topology.wire, between.bandwidth.relative_error, between.bandwidth.origin};
  link.peak = between.peak * static_cast<double>(wires_of(between, layout, nics));
  link.channels = inside.channels;
  link.beside_compute = inside.beside_compute;
  link.beside_memory = inside.beside_memory;
  link.beside_flops = inside.beside_flops;
  link.beside_copies = inside.beside_copies;
  link.source = inside.source + "; " + between.source;
  const Unsure unsure{std::max(pair_latency(between, Topology::network, kBetween).relative_error,
                               kLeastLatencyError),
                      std::hypot(error, between.bandwidth.relative_error)};
  Unsure of_both = unsure;
  const CollectivePrice within = price_inside(inside, layout.gpus_per_node);
  of_both.carried = within.extrapolated;
  // What has the pace is what has to be sure.
  if (inside_bandwidth(inside, layout.gpus_per_node) < *topology.wire)
    of_both.bandwidth = std::hypot(of_both.bandwidth, within.relative_error);
  add_curves(link, topology, of_both,
             {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter});
  link.levels = {inside, between_nodes(between, topology, unsure)};
  return link;
}

}  // namespace ddpx
