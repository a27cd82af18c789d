#include "model/link.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/carry_over.hpp"
#include "model/error.hpp"
#include "model/most_counted.hpp"
#include "model/nccl.hpp"

namespace ddpx {
namespace {

constexpr std::array<std::pair<Topology, std::string_view>, 5> kTopologies{
    {{Topology::nvlink, "nvlink"},
     {Topology::pcie, "pcie"},
     {Topology::pcie_host, "pcie_host"},
     {Topology::network, "network"},
     {Topology::host_memory, "host_memory"}}};

// What is known of a collective at one rank count.
struct Known {
  Count count;
  Seconds latency;  // of the smallest message
  double relative_error;
  double latency_error = 0;
};

template <class TimeAt>
CollectivePrice carried(const Link& link, const Known& known, const CollectiveCall& call,
                        InSwitch in_switch, TimeAt time_at) {
  const CarryOver& carry = carry_over(link.topology, link.peak);
  if (call.ranks > link.reach()) {
    if (link.most_ranks) {
      throw InputError("link " + link.name,
                       "joins at most " + std::to_string(*link.most_ranks) + " GPUs, not " +
                           std::to_string(call.ranks) +
                           ": more of them exchange over what joins the pairs; name that, as "
                           "--link pcie4, or give a log of that many ranks");
    }
    throw InputError("link " + link.name,
                     "joins the GPUs of one host, and " + std::to_string(call.ranks) +
                         " of them were not measured on it (at most " +
                         std::to_string(link.reach()) +
                         "); give hosts as --gpus 2x8 with --inter-link, or a log of that many "
                         "ranks as --link");
  }
  const Count to{call.kind, call.ranks};
  const Seconds moved = time_at(call.bytes * carried_volume(carry, known.count, to));
  const CarriedTime ring = carried_time(carry, known.count, to, known.latency, moved);
  const Seconds latency = known.latency * carried_latency(carry, known.count, to);
  const double unsure = known.latency_error * std::min(1.0, latency / ring.time);
  const CollectivePrice by_ring{
      ring.time, std::hypot(known.relative_error, ring.relative_error, unsure), true};
  const bool by_ring_alone = in_switch == InSwitch::no || link.in_switch == InSwitch::no;
  return by_ring_alone ? by_ring : with_switch(link, call, by_ring);
}

const Curve* find_curve(const Link& link, const CollectiveCall& call, bool same_ranks) {
  const Curve* best = nullptr;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const Curve& curve : link.curves) {
    if (curve.kind != call.kind) continue;
    if (same_ranks && curve.ranks != call.ranks) continue;
    double distance = std::abs(std::log2(static_cast<double>(curve.ranks) / call.ranks));
    if (curve.dtype != call.dtype) distance += 1e-3;
    if (distance < best_distance) {
      best_distance = distance;
      best = &curve;
    }
  }
  return best;
}

CollectivePrice from_curve(const Link& link, const Curve& curve, const CollectiveCall& call) {
  CollectivePrice result{curve.at(call.bytes), curve.error_at(call.bytes),
                         curve.extrapolates(call.bytes)};
  if (curve.shows_latency()) return result;
  const Estimate<Seconds> least = latency_on(link, curve, link.topology);
  result.time = std::max(result.time, least.value);
  result.relative_error =
      std::hypot(result.relative_error, least.relative_error * (least.value / result.time));
  return result;
}

CollectivePrice carried(const Link& link, const Curve& curve, const CollectiveCall& call,
                        InSwitch in_switch) {
  const Estimate<Seconds> latency = latency_on(link, curve, link.topology);
  const Known known{
      {curve.kind, curve.ranks}, latency.value, curve.error_at(call.bytes), latency.relative_error};
  return carried(link, known, call, in_switch, [&](Bytes bytes) { return curve.at(bytes); });
}

// Figures are of two ranks.
Seconds time_by_figures(const Link& link, double factor, Bytes bytes) {
  const Seconds time = link.latency.value + factor * bytes / link.bandwidth.value;
  if (!(link.large_latency.value > link.latency.value)) return time;
  // NCCL's LL protocol reaches half the bus bandwidth (tuning.cc: ring LL = busBW / 2).
  const Seconds small = link.latency.value + factor * bytes / (0.5 * link.bandwidth.value);
  return std::min(small, time + (link.large_latency.value - link.latency.value));
}

CollectivePrice from_figures(const Link& link, const CollectiveCall& call, InSwitch in_switch) {
  const double factor = bus_factor(call.kind, 2);
  const auto time_at = [&](Bytes bytes) { return time_by_figures(link, factor, bytes); };
  const auto error_of = [&](Seconds time) {
    const double share = std::min(1.0, link.latency.value / time);
    return std::hypot(share * link.latency.relative_error,
                      (1 - share) * link.bandwidth.relative_error);
  };
  if (call.ranks == 2) {
    const Seconds time = time_at(call.bytes);
    return {time, error_of(time), false};
  }
  CollectivePrice result =
      carried(link, Known{{call.kind, 2}, link.latency.value, 0}, call, in_switch, time_at);
  result.relative_error = std::hypot(result.relative_error, error_of(result.time));
  return result;
}

}  // namespace

std::string_view name(Topology topology) {
  for (const auto& [value, word] : kTopologies) {
    if (value == topology) return word;
  }
  return "?";
}

std::optional<Topology> topology_from(std::string_view word) {
  for (const auto& [value, candidate] : kTopologies) {
    if (candidate == word) return value;
  }
  return std::nullopt;
}

Seconds ring_time(const CollectiveCall& call, Seconds step_latency, BytesPerSecond bandwidth) {
  const double steps = ring_steps(call.kind, call.ranks);
  return steps * (step_latency + call.bytes / call.ranks / bandwidth);
}

Collective stand_in(Collective kind) {
  return kind == Collective::all_gather ? Collective::reduce_scatter : Collective::all_gather;
}

Estimate<Seconds> latency_on(const Link& link, const Curve& curve, Topology topology) {
  if (const std::optional<Seconds> measured = curve.latency()) return {*measured, 0, "measured"};
  const CarryOver& carry = carry_over(topology, link.peak);
  const bool by_figure = link.latency.value > Seconds{};
  const Estimate<Seconds> pair =
      by_figure ? link.latency
                : Estimate<Seconds>{carry.pair_latency, std::expm1(carry.pair_error), "assumed"};
  const double growth =
      carried_latency(carry, {Collective::all_reduce, 2}, {curve.kind, curve.ranks});
  return {std::min(pair.value * growth, curve.smallest_time()), pair.relative_error, pair.origin};
}

int Link::reach() const { return most_ranks.value_or(carry_over(topology, peak).most_ranks); }

std::optional<int> Link::hosts_of(const Curve& curve) const {
  if (curve.hosts) return curve.hosts;
  if (topology == Topology::network || topology_assumed) return std::nullopt;
  return 1;
}

BytesPerSecond Link::bus_bandwidth() const {
  for (const Curve& curve : curves) {
    if (curve.kind == Collective::all_reduce) return curve.peak_bus_bandwidth();
  }
  return bandwidth.value;
}

std::optional<Seconds> in_switch_time(const Link& link, const CollectiveCall& call) {
  constexpr int kGpus = 8;
  constexpr BytesPerSecond kNvlink4{450e9};  // 18 links of 25 GB/s
  constexpr int kChannels = 16;              // that NVLS takes of a Hopper GPU
  const bool all = call.kind == Collective::all_reduce && call.ranks == kGpus;
  const bool fewer = link.channels > 0 && link.channels < kChannels;
  if (!all || fewer || link.topology != Topology::nvlink || link.peak != kNvlink4)
    return std::nullopt;
  NcclTopology topology;
  topology.generation = GpuGeneration::hopper;
  topology.ranks_per_node = kGpus;
  topology.nvls_head = kHopperNvlsHead;
  for (const NcclCost& cost : nccl_costs(call.kind, topology)) {
    if (cost.algorithm == NcclAlgorithm::nvls) return nccl_time(cost, call.bytes, topology);
  }
  return std::nullopt;
}

CollectivePrice with_switch(const Link& link, const CollectiveCall& call, CollectivePrice ring) {
  const auto by_switch = in_switch_time(link, call);
  if (!by_switch || *by_switch >= ring.time) return ring;
  const double gain = std::log(ring.time / *by_switch);
  ring.time = ring.time * std::exp(-gain / 2);
  ring.relative_error = std::hypot(ring.relative_error, std::expm1(gain / 2));
  return ring;
}

namespace {

CollectivePrice priced(const Link& link, const CollectiveCall& call, InSwitch in_switch) {
  if (const Curve* curve = find_curve(link, call, true)) return from_curve(link, *curve, call);
  if (call.kind != Collective::all_reduce) {
    CollectiveCall other = call;
    other.kind = stand_in(call.kind);
    if (const Curve* curve = find_curve(link, other, true)) {
      CollectivePrice result = from_curve(link, *curve, other);
      // Half an all-reduce and the two half-collectives differ by 3-7 % (two H200).
      result.relative_error = std::hypot(result.relative_error, 0.03);
      return result;
    }
  }
  if (const Curve* curve = find_curve(link, call, false))
    return carried(link, *curve, call, in_switch);
  if (link.bandwidth.value.value() > 0) return from_figures(link, call, in_switch);
  for (Collective kind : {stand_in(call.kind), Collective::all_reduce}) {
    CollectiveCall other = call;
    other.kind = kind;
    if (const Curve* curve = find_curve(link, other, false)) {
      CollectivePrice result = carried(link, *curve, call, in_switch);
      result.relative_error = std::hypot(result.relative_error, 0.05);
      return result;
    }
  }
  throw InputError("link " + link.name,
                   "has no curve and no bandwidth for " + std::string(name(call.kind)));
}

}  // namespace

CollectivePrice price(const Link& link, const CollectiveCall& call, InSwitch in_switch) {
  if (call.ranks < 2) return {};
  CollectivePrice result = priced(link, call, in_switch);
  result.least = std::min(result.time, least_time(link, call, in_switch));
  return result;
}

}  // namespace ddpx
