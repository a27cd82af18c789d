#include "model/most_counted.hpp"

#include <algorithm>

#include "model/estimate.hpp"
#include "model/tree_wire.hpp"

namespace ddpx {
namespace {

constexpr Bytes kLarge{1 << 30};

// All-reduces that the switch of a node adds up; nullopt where none does.
std::optional<BytesPerSecond> by_switch(const Link& inside, int ranks) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, kLarge, ranks};
  const auto time = in_switch_time(inside, call);
  if (!time) return std::nullopt;
  return call.bytes / *time * bus_factor(call.kind, ranks) * kInSwitchSpread;
}

// Of nodes with GPUs of their own; nullopt where nothing bounds it.
std::optional<BytesPerSecond> most_inside(const Link& inside, Collective kind, int ranks_per_node,
                                          int ranks) {
  if (ranks_per_node < 2 || !(inside.peak.value() > 0)) return std::nullopt;
  // Nodes whose switch adds up may do so over several nodes too (NVLSTree).
  if (const auto added = by_switch(inside, ranks_per_node);
      added && kind == Collective::all_reduce) {
    return *added * (bus_factor(kind, ranks) / bus_factor(kind, ranks_per_node));
  }
  return inside.peak * inside.widened;
}

// What is known of a wire's rate in one direction: the standard's, else the figure that was
// reached, which no algorithm is to be added to.
std::optional<BytesPerSecond> rate_of(const Link& wire, BytesPerSecond peak, BytesPerSecond high) {
  if (peak.value() > 0) return peak * wire.widened;
  if (!given_by_figures(wire)) return std::nullopt;
  return high * (1.0 + kNormalQuantile90 * wire.bandwidth.relative_error);
}

}  // namespace

std::optional<BytesPerSecond> most_counted(const Link& link, Collective kind, int ranks,
                                           InSwitch in_switch) {
  const bool all_reduce = kind == Collective::all_reduce;
  if (link.levels.empty()) {
    auto most = rate_of(link, link.peak, link.bandwidth_high);
    const bool added = all_reduce && in_switch != InSwitch::no && link.in_switch != InSwitch::no;
    if (const auto more = added ? by_switch(link, ranks) : std::nullopt; more && most)
      most = std::max(*most, *more);
    return most;
  }
  const int nodes = link.levels.back().curves.front().ranks;
  std::optional<BytesPerSecond> most = rate_of(link.levels.back(), link.peak, link.bandwidth.value);
  if (most && all_reduce) *most *= most_over_wire(nodes, ranks);
  const auto inside = most_inside(link.levels.front(), kind, ranks / nodes, ranks);
  if (inside && (!most || *inside < *most)) most = inside;
  return most;
}

Seconds least_time(const Link& link, const CollectiveCall& call, InSwitch in_switch) {
  const auto most = most_counted(link, call.kind, call.ranks, in_switch);
  return most ? bus_factor(call.kind, call.ranks) * call.bytes / *most : Seconds{};
}

}  // namespace ddpx
