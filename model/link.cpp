#include "model/link.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr std::array<std::pair<Topology, std::string_view>, 4> kTopologies{
    {{Topology::nvlink, "nvlink"},
     {Topology::pcie, "pcie"},
     {Topology::network, "network"},
     {Topology::host_memory, "host_memory"}}};

// One standard error of carrying a curve from the measured rank count to another, per doubling. Bus
// bandwidth from 2 to 4 or 8 ranks moved by 4-19 % on three NVSwitch machines and by 74-92 % on
// PCIe boxes (public NCCL tables by rank count).
double carry_error(Topology topology) {
  switch (topology) {
    case Topology::nvlink:
      return 0.06;
    case Topology::network:
      return 0.10;
    case Topology::pcie:
    case Topology::host_memory:
      return 0.35;
  }
  return 0.35;
}

// Share of the two-rank latency that is paid once, whatever the number of steps: NCCL's base
// latency against its per-step hardware latency, ring LL over NVLink 6.6 us base + 2 x 0.6 us
// (tuning.cc); a network's steps dominate (6.6 + 2 x 2.7 us).
double base_share(Topology topology) { return topology == Topology::network ? 0.5 : 0.8; }

// Latency on N ranks from latency on two: the base once, then ring steps or, beyond a few ranks, a
// tree's 2 log2 N levels.
double latency_growth(const Link& link, Collective kind, int ranks) {
  const double base = base_share(link.topology);
  const double ring = ring_steps(kind, ranks);
  const double tree =
      kind == Collective::all_reduce ? 2.0 * std::ceil(std::log2(ranks)) + 2.0 : ring;
  return base + (1.0 - base) * std::min(ring, tree) / 2.0;
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

// The collective whose curve stands in for `kind`: reduce-scatter and all-gather move the same
// bytes in the same steps.
Collective twin(Collective kind) {
  return kind == Collective::all_gather ? Collective::reduce_scatter : Collective::all_gather;
}

CollectivePrice from_curve(const Curve& curve, const CollectiveCall& call) {
  return {curve.at(call.bytes), curve.relative_error, curve.extrapolates(call.bytes)};
}

CollectivePrice carried(const Link& link, const Curve& curve, const CollectiveCall& call) {
  const double volume = bus_factor(call.kind, call.ranks) / bus_factor(curve.kind, curve.ranks);
  const double growth =
      latency_growth(link, call.kind, call.ranks) / latency_growth(link, curve.kind, curve.ranks);
  const Seconds latency = curve.smallest_time();
  const Seconds moved = std::max(Seconds{}, curve.at(call.bytes * volume) - latency);
  const double doublings = std::abs(std::log2(static_cast<double>(call.ranks) / curve.ranks));
  const double error = carry_error(link.topology) * doublings;
  return {latency * growth + moved, std::hypot(curve.relative_error, error), true};
}

CollectivePrice from_figures(const Link& link, const CollectiveCall& call) {
  const double factor = bus_factor(call.kind, call.ranks);
  const double growth = latency_growth(link, call.kind, call.ranks);
  Seconds time = link.latency.value * growth + factor * call.bytes / link.bandwidth.value;
  if (link.large_latency.value > link.latency.value) {
    // NCCL's LL protocol reaches half the bus bandwidth (tuning.cc: ring LL = busBW / 2).
    const Seconds small =
        link.latency.value * growth + factor * call.bytes / (0.5 * link.bandwidth.value);
    time = std::min(small, time + (link.large_latency.value - link.latency.value) * growth);
  }
  const Seconds latency_part = link.latency.value * growth;
  const double share = latency_part / time;
  const double error =
      std::hypot(share * link.latency.relative_error, (1 - share) * link.bandwidth.relative_error);
  const double doublings = std::log2(std::max(2, call.ranks) / 2.0);
  return {time, std::hypot(error, carry_error(link.topology) * doublings), call.ranks > 2};
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

int ring_steps(Collective kind, int ranks) {
  if (ranks < 2) return 0;
  return kind == Collective::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

Seconds ring_time(const CollectiveCall& call, Seconds step_latency, BytesPerSecond bandwidth) {
  const double steps = ring_steps(call.kind, call.ranks);
  return steps * (step_latency + call.bytes / call.ranks / bandwidth);
}

BytesPerSecond Link::bus_bandwidth() const {
  for (const Curve& curve : curves) {
    if (curve.kind == Collective::all_reduce) return curve.peak_bus_bandwidth();
  }
  return bandwidth.value;
}

CollectivePrice price(const Link& link, const CollectiveCall& call) {
  if (call.ranks < 2) return {};
  if (const Curve* curve = find_curve(link, call, true)) return from_curve(*curve, call);
  if (call.kind != Collective::all_reduce) {
    CollectiveCall other = call;
    other.kind = twin(call.kind);
    if (const Curve* curve = find_curve(link, other, true)) {
      CollectivePrice result = from_curve(*curve, other);
      // Half an all-reduce and the two half-collectives differ by 3-7 % (two H200).
      result.relative_error = std::hypot(result.relative_error, 0.03);
      return result;
    }
  }
  if (const Curve* curve = find_curve(link, call, false)) return carried(link, *curve, call);
  if (link.bandwidth.value.value() > 0) return from_figures(link, call);
  for (Collective kind : {twin(call.kind), Collective::all_reduce}) {
    CollectiveCall other = call;
    other.kind = kind;
    if (const Curve* curve = find_curve(link, other, false)) {
      CollectivePrice result = carried(link, *curve, call);
      result.relative_error = std::hypot(result.relative_error, 0.05);
      return result;
    }
  }
  throw InputError("link " + link.name,
                   "has no curve and no bandwidth for " + std::string(name(call.kind)));
}

}  // namespace ddpx
