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

// How costs carry over from the rank count that was measured to another, by topology. Fitted on the
// public tables by rank count (three NVSwitch and PCIe machines at 2, 4 and 8 GPUs) and
// same-machine sweeps; docs/results/links.md judges each machine by the others.
struct CarryOver {
  // Share of the two-rank latency that is paid once, whatever the number of steps.
  double base_share;
  // Chunks that cost as much as a step without being one: what a rank copies for itself. A ring of
  // k steps of S/N bytes then takes (k + local_chunks)/N S over the bandwidth, so that bus
  // bandwidth rises with the count.
  double local_chunks;
  // Bandwidth per doubling of the count: flows through one root complex share it.
  double per_doubling;
  // Standard errors, in logarithms: of every count, where messages are small enough that protocols
  // change, and per doubling.
  double error;
  double protocol_error;
  double error_per_doubling;
  // No single host has more.
  int most_ranks;
};

const CarryOver& carry_over(Topology topology) {
  static constexpr CarryOver kNvlink{0.80, 0.40, 1.0, 0.04, 0.16, 0.0, 72};
  // Boxes differ by more than any count: per doubling bus bandwidth went to 0.23, 0.26, 0.27
  // (L40S), 0.67, 1.15 (RTX 4090, by which two of the four GPUs), 0.8 (RTX 5090).
  static constexpr CarryOver kPcie{0.70, 0.0, 0.55, 0.04, 0.16, 0.65, 16};
  static constexpr CarryOver kNetwork{0.5, 0.0, 1.0, 0.05, 0.20, 0.12, 1 << 20};
  // CPU ranks: memory is shared as a root complex is, but no further than its bandwidth.
  static constexpr CarryOver kHostMemory{0.5, 0.0, 0.7, 0.04, 0.16, 0.30, 1024};
  switch (topology) {
    case Topology::nvlink:
      return kNvlink;
    case Topology::network:
      return kNetwork;
    case Topology::host_memory:
      return kHostMemory;
    case Topology::pcie:
      break;
  }
  return kPcie;
}

// Latency on N ranks over the part that is paid once: ring steps inside a host, where NCCL's tree
// is a chain as well (tuning.cc: 2 (ranks per node - 1) hops); between hosts a tree's levels when
// they are fewer.
double latency_growth(const Link& link, Collective kind, int ranks) {
  const double base = carry_over(link.topology).base_share;
  double steps = ring_steps(kind, ranks);
  if (link.topology == Topology::network && kind == Collective::all_reduce)
    steps = std::min(steps, 2.0 * std::ceil(std::log2(ranks)));
  return base + (1.0 - base) * steps / ring_steps(kind, 2);
}

// Chunk times in a collective of one byte: ring steps and local copies, over the chunks.
double chunks(const Link& link, Collective kind, int ranks) {
  return (ring_steps(kind, ranks) + carry_over(link.topology).local_chunks) / ranks;
}

double doublings(int from, int to) { return std::log2(static_cast<double>(to) / from); }

// What is known of a collective at one rank count.
struct Known {
  Collective kind;
  int ranks;
  Seconds latency;  // of the smallest message
  double relative_error;
};

// The collective on another rank count. Large messages move `volume` times the bytes, which
// `time_at` prices at the known count; small ones pay `growth` times the latency. Between the two
// protocols change, and the sum of cubes lies closer than the plain sum, which adds up two
// latencies of which one is hidden (leave one machine out: 8.0 % against 9.1 %).
template <class TimeAt>
CollectivePrice carried(const Link& link, const Known& known, const CollectiveCall& call,
                        TimeAt time_at) {
  const CarryOver& carry = carry_over(link.topology);
  if (call.ranks > carry.most_ranks) {
    throw InputError("link " + link.name,
                     "joins the GPUs of one host, and " + std::to_string(call.ranks) +
                         " of them were not measured on it (at most " +
                         std::to_string(carry.most_ranks) +
                         "); give hosts as --gpus 2x8 with --inter-link, or a log of that many "
                         "ranks as --link");
  }
  const double volume = chunks(link, call.kind, call.ranks) / chunks(link, known.kind, known.ranks);
  const double growth =
      latency_growth(link, call.kind, call.ranks) / latency_growth(link, known.kind, known.ranks);
  const double steps = doublings(known.ranks, call.ranks);
  const double slowing = std::pow(carry.per_doubling, -steps);
  const double moved = (time_at(call.bytes * volume) - known.latency).value() * slowing;
  const double large = known.latency.value() + std::max(0.0, moved);
  const double small = known.latency.value() * growth;
  const double cubes = std::pow(large, 3) + std::pow(small, 3) - std::pow(known.latency.value(), 3);
  const double time = std::cbrt(std::max(cubes, 0.5 * std::pow(small, 3)));
  // From an eighth of the time on, latency and protocol decide.
  const double protocol = std::min(1.0, 8 * small / time);
  const double error = std::hypot(carry.error, protocol * carry.protocol_error,
                                  carry.error_per_doubling * std::abs(steps));
  return {Seconds(time), std::hypot(known.relative_error, std::expm1(error)), true};
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
  return carried(link, Known{curve.kind, curve.ranks, curve.smallest_time(), curve.relative_error},
                 call, [&](Bytes bytes) { return curve.at(bytes); });
}

// Figures are of two ranks.
Seconds time_by_figures(const Link& link, double factor, Bytes bytes) {
  const Seconds time = link.latency.value + factor * bytes / link.bandwidth.value;
  if (!(link.large_latency.value > link.latency.value)) return time;
  // NCCL's LL protocol reaches half the bus bandwidth (tuning.cc: ring LL = busBW / 2).
  const Seconds small = link.latency.value + factor * bytes / (0.5 * link.bandwidth.value);
  return std::min(small, time + (link.large_latency.value - link.latency.value));
}

CollectivePrice from_figures(const Link& link, const CollectiveCall& call) {
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
  CollectivePrice result = carried(link, Known{call.kind, 2, link.latency.value, 0}, call, time_at);
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
