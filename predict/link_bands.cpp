// What a link gives, as a band: see check_link.hpp.
#include <algorithm>

#include "model/tree_wire.hpp"
#include "predict/check_link.hpp"
#include "predict/link_text.hpp"

namespace ddpx {
namespace {

// What machines whose switch adds up differ by (480 GB/s on H100 and H200).
constexpr double kInSwitchSpread = 1.08;

// Of nodes with GPUs of their own; nullopt where nothing bounds it.
std::optional<BytesPerSecond> most_inside(const Link& inside, int ranks_per_node, int ranks) {
  if (ranks_per_node < 2 || !(inside.peak.value() > 0)) return std::nullopt;
  // Nodes whose switch adds up may do so over several nodes too (NVLSTree).
  if (const auto by_switch = in_switch_band(inside, ranks_per_node)) {
    const double counted = bus_factor(Collective::all_reduce, ranks) /
                           bus_factor(Collective::all_reduce, ranks_per_node);
    return by_switch->high * counted;
  }
  return inside.peak;
}

// What is known of a wire's rate in one direction: the standard's, else the figure that was
// reached, which no algorithm is to be added to.
std::optional<BytesPerSecond> rate_of(const Link& wire, BytesPerSecond peak, BytesPerSecond high) {
  if (peak.value() > 0) return peak;
  if (!given_by_figures(wire)) return std::nullopt;
  return high * (1.0 + kNormalQuantile90 * wire.bandwidth.relative_error);
}

// The most bus bandwidth that `ranks` can count: by their hosts' wires, which a tree over two or
// three hosts of several ranks uses less than is counted, and by the links inside a host. nullopt
// where neither is known.
std::optional<BytesPerSecond> most_counted(const Link& link, int ranks) {
  if (link.levels.empty()) return rate_of(link, link.peak, link.bandwidth_high);
  const int nodes = link.levels.back().curves.front().ranks;
  std::optional<BytesPerSecond> most = rate_of(link.levels.back(), link.peak, link.bandwidth.value);
  if (most) *most *= most_over_wire(nodes, ranks);
  const auto inside = most_inside(link.levels.front(), ranks / nodes, ranks);
  if (inside && (!most || *inside < *most)) most = inside;
  return most;
}

}  // namespace

Standing Band::standing(BytesPerSecond measured) const {
  if (measured < low) return Standing::below;
  return measured > high ? Standing::above : Standing::within;
}

Band band_of(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const CollectivePrice priced = price(link, call, InSwitch::no);
  const BytesPerSecond usual = call.bytes / priced.time * bus_factor(call.kind, ranks);
  const double spread = 1.0 + kNormalQuantile90 * priced.relative_error;
  Band band{usual / spread, usual, usual * spread};
  if (link.bandwidth_low.value() > 0 && link.bandwidth.value.value() > 0) {
    band.low = std::min(band.low, usual * (link.bandwidth_low / link.bandwidth.value));
    band.high = std::max(band.high, usual * (link.bandwidth_high / link.bandwidth.value));
  }
  if (const auto most = most_counted(link, ranks))
    band.high = std::max(usual, std::min(band.high, *most));
  return band;
}

std::optional<Band> in_switch_band(const Link& link, int ranks, Bytes bytes) {
  const CollectiveCall call{Collective::all_reduce, DType::fp32, bytes, ranks};
  const auto time = in_switch_time(link, call);
  if (!time) return std::nullopt;
  const BytesPerSecond usual = bytes / *time * bus_factor(call.kind, ranks);
  return Band{usual / kInSwitchSpread, usual, usual * kInSwitchSpread};
}

}  // namespace ddpx
