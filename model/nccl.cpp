#include "model/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/error.hpp"
#include "model/tree_wire.hpp"

namespace ddpx {
namespace {

// tuning.cc's tables, in microseconds and GB/s. Columns of protocols: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase{6.8, 14.0, 8.4};
constexpr ByProtocol kRingBase{6.6, 14.0, 8.4};
struct HardwareLatency {
  ByProtocol tree;
  ByProtocol ring;
  double nvls;
};
constexpr HardwareLatency kNvlinkLatency{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, 25.0};
constexpr HardwareLatency kPciLatency{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, 0.0};
constexpr HardwareLatency kNetworkLatency{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, 18.0};
// A network proxy's time per message on an Intel host; Simple pays it three times.
constexpr double kNetworkOverhead = 1.0;

// Columns: one node, two, more. LL's ceiling on several nodes goes by the host's processor (the row
// of an Intel host, which is Volta's).
using ByNodes = std::array<double, 3>;
struct Ceilings {
  double ll_one_node;
  ByNodes ring_ll128;  // per channel
  ByNodes tree_ll128;
  ByNodes tree;
  double nvls_efficiency;
};
constexpr ByNodes kLlCeiling{39.0, 39.0, 20.4};
constexpr std::array<Ceilings, 4> kCeilings{{
    {39.0, {20, 20, 20}, {20, 20, 20}, {26.5, 18.5, 10.0}, 0.0},
    {87.7, {20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, 0.0},
    {141.0, {36.7, 36.7, 36.7}, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, 0.85},
    {282.0, {40, 40, 40}, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}, 0.74},
}};

// A tree's bandwidth by size, i = floor(log2(bytes / 64)).
constexpr std::size_t kFactors = 23;
constexpr std::array<std::array<double, kFactors>, 3> kTreeFactor{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};
constexpr double kRingSimpleLatency = 1.4;  // of a large message over several nodes
constexpr double kLl128Share = 0.92;        // 120 of 128 bytes carry data, and some

constexpr std::array kProtocols{NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

std::size_t index(NcclProtocol protocol) { return static_cast<std::size_t>(protocol); }

// The figures of one topology in tuning.cc's units.
class Model {
 public:
  Model(Collective kind, const NcclTopology& topology)
      : t_(topology),
        kind_(kind),
        ranks_(topology.nodes * topology.ranks_per_node),
        column_(topology.nodes == 1 ? 0U : (topology.nodes == 2 ? 1U : 2U)),
        ceilings_(kCeilings.at(static_cast<std::size_t>(topology.generation))),
        inside_(topology.nvlink ? kNvlinkLatency : kPciLatency),
        graph_(topology.channels *
               (topology.nodes <= 2 ? topology.channel_inside : topology.channel_between).value() /
               1e9) {}

  [[nodiscard]] NcclCost ring(NcclProtocol protocol) const {
    const std::size_t p = index(protocol);
    const double steps = kind_ == Collective::all_reduce ? 2.0 * (ranks_ - 1) : ranks_ - 1;
    const double between =
        t_.nodes == 1 ? 0 : (kind_ == Collective::all_reduce ? 2.0 : 1.0) * (t_.nodes - 1);
    double inside = inside_.ring.at(p) * t_.latency_scale;
    if (t_.nodes > 1) {
      const double proxy = kNetworkOverhead * (protocol == NcclProtocol::simple ? 3 : 1);
      inside = std::max(inside, proxy);
    }
    const double latency = kRingBase.at(p) * t_.latency_scale + (steps - between) * inside +
                           between * hop(kNetworkLatency.ring.at(p));
    double bus = wired(graph_, 1);
    if (protocol == NcclProtocol::ll)
      bus = std::min(t_.nodes == 1 ? ceilings_.ll_one_node : kLlCeiling.at(column_), bus / 2);
    if (protocol == NcclProtocol::ll128)
      bus = std::min(kLl128Share * bus, t_.channels * ceilings_.ring_ll128.at(column_));
    return cost(NcclAlgorithm::ring, protocol, latency, bus * ranks_ / steps);
  }

  [[nodiscard]] NcclCost tree(NcclProtocol protocol) const {
    const std::size_t p = index(protocol);
    const double hops = std::floor(std::log2(t_.nodes));
    const double latency = kTreeBase.at(p) * t_.latency_scale +
                           2 * ((t_.ranks_per_node - 1) * inside_.tree.at(p) * t_.latency_scale +
                                hops * hop(kNetworkLatency.tree.at(p)));
    const double channels = t_.channels;
    // Without NVLink the search finds no balanced tree (pattern "TREE").
    const double pattern = t_.nvlink ? 1.0 : 0.85;
    // Twice the bytes of the call per second, which is what the channels are counted in.
    const double over_wire = t_.nodes > 1 ? 2.0 / tree_sends(t_.nodes) : 1.0;
    const double bus = wired(
        std::min(kLl128Share * graph_, channels * ceilings_.tree.at(column_)) * pattern, over_wire);
    double of_protocol = bus;
    if (protocol == NcclProtocol::ll)
      of_protocol =
          std::min(bus / 3.8, t_.nodes == 1 ? ceilings_.ll_one_node : kLlCeiling.at(column_));
    if (protocol == NcclProtocol::ll128)
      of_protocol = std::min(bus * (t_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                             channels * ceilings_.tree_ll128.at(column_));
    return cost(NcclAlgorithm::tree, protocol, latency, of_protocol * 0.5);
  }

  // One node of eight GPUs, each the head of one multicast group. For fewer the search graph
  // differs and this formula with it.
  [[nodiscard]] std::optional<NcclCost> nvls() const {
    constexpr int kHeads = 8;
    if (!t_.nvls_head || t_.nodes > 1 || ranks_ != kHeads) return std::nullopt;
    const double channel = t_.nvls_head->value() / 1e9 * ceilings_.nvls_efficiency * (kHeads - 1) /
                           kHeads * (kind_ == Collective::all_reduce ? 2 : 1);
    const double steps = kind_ == Collective::all_reduce ? 2.0 * (ranks_ - 1) : ranks_ - 1;
    return cost(NcclAlgorithm::nvls, NcclProtocol::simple, inside_.nvls,
                channel * kHeads * ranks_ / steps);
  }

 private:
  [[nodiscard]] double hop(double microseconds) const {
    return microseconds + t_.hop_between.value() * 1e6;
  }
  [[nodiscard]] double wired(double bus, double times) const {
    return t_.wire ? std::min(bus, times * t_.wire->value() / 1e9) : bus;
  }
  static NcclCost cost(NcclAlgorithm algorithm, NcclProtocol protocol, double microseconds,
                       double gigabytes) {
    return {algorithm, protocol, Seconds(microseconds * 1e-6), BytesPerSecond(gigabytes * 1e9)};
  }

  const NcclTopology& t_;
  Collective kind_;
  int ranks_;
  std::size_t column_;
  const Ceilings& ceilings_;
  const HardwareLatency& inside_;
  double graph_;  // all channels' bandwidth, GB/s
};

}  // namespace

std::string_view name(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 3> kNames{"ring", "tree", "nvls"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view name(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames{"ll", "ll128", "simple"};
  return kNames.at(index(protocol));
}

std::vector<NcclCost> nccl_costs(Collective kind, const NcclTopology& topology) {
  const int ranks = topology.nodes * topology.ranks_per_node;
  if (ranks < 2 || topology.nodes < 1)
    throw InputError("NCCL topology", std::to_string(ranks) + " ranks; needs at least two");
  const Model model(kind, topology);
  std::vector<NcclCost> costs;
  for (NcclProtocol protocol : kProtocols) {
    // LL128 needs 128-byte stores to arrive whole, which PCIe does not promise.
    if (protocol == NcclProtocol::ll128 && !topology.nvlink) continue;
    costs.push_back(model.ring(protocol));
    if (kind == Collective::all_reduce) costs.push_back(model.tree(protocol));
  }
  if (const auto nvls = model.nvls()) costs.push_back(*nvls);
  return costs;
}

Seconds nccl_time(const NcclCost& cost, Bytes bytes, const NcclTopology& topology) {
  double bandwidth = cost.bandwidth.value();
  double latency = cost.latency.value();
  const double ranks = topology.nodes * topology.ranks_per_node;
  if (cost.algorithm == NcclAlgorithm::tree) {
    const double size = std::floor(std::log2(std::max(64.0, bytes.value()) / 64));
    if (size < static_cast<double>(kFactors))
      bandwidth *= kTreeFactor.at(index(cost.protocol)).at(static_cast<std::size_t>(size));
  }
  if (cost.algorithm == NcclAlgorithm::ring && cost.protocol == NcclProtocol::simple &&
      topology.nodes > 1 && bytes.value() / (topology.channels * ranks) >= 64)
    latency *= kRingSimpleLatency;
  return Seconds(latency + bytes.value() / bandwidth);
}

const NcclCost& nccl_choice(std::span<const NcclCost> costs, Bytes bytes,
                            const NcclTopology& topology) {
  return *std::min_element(costs.begin(), costs.end(), [&](const NcclCost& a, const NcclCost& b) {
    return nccl_time(a, bytes, topology) < nccl_time(b, bytes, topology);
  });
}

}  // namespace ddpx
