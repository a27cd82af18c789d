#include "predict/fall_backs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/link_text.hpp"

namespace ddpx {
namespace {

constexpr std::string_view kTcp = "tcp";

bool of_unknown_kind(const Link& link) { return link.topology_assumed || given_by_figures(link); }

// From what is lost first to what is left.
int order_of(Topology topology) {
  if (topology == Topology::nvlink) return 0;
  return topology == Topology::pcie ? 1 : 2;
}

bool level_may_become(const Link& named, const Link& other) {
  if (of_unknown_kind(named)) return true;
  const bool network = named.topology == Topology::network;
  if (network != (other.topology == Topology::network)) return false;
  if (!network) return order_of(other.topology) >= order_of(named.topology);
  const std::string_view family = network_family(named);
  return family.empty() || network_family(other) == kTcp || network_family(other) == family;
}

}  // namespace

const Link& between_of(const Link& link) { return link.levels.empty() ? link : link.levels.back(); }

std::string_view network_family(const Link& link) {
  constexpr std::array<std::string_view, 4> kFamilies{kTcp, "infiniband", "roce", "efa"};
  if (link.topology != Topology::network) return {};
  const std::string_view family = std::string_view(link.name).substr(0, link.name.find('-'));
  const auto* found = std::find(kFamilies.begin(), kFamilies.end(), family);
  return found == kFamilies.end() ? std::string_view() : *found;
}

bool may_become(const Link& named, const Link& other) {
  if (named.levels.size() != other.levels.size())
    return named.levels.empty() && (!named.curves.empty() || of_unknown_kind(named));
  if (named.levels.empty()) return level_may_become(named, other);
  return std::equal(
      named.levels.begin(), named.levels.end(), other.levels.begin(),
      [](const Link& a, const Link& b) { return a.name == b.name || level_may_become(a, b); });
}

std::vector<const Link*> fall_backs(const MeasuredLink& measured, const Link& expected,
                                    std::span<const Link> table) {
  const int ranks = measured.ranks;
  const BytesPerSecond usual = band_of(expected, ranks, measured.bytes).usual;
  struct Found {
    const Link* link;
    bool sockets;
    double off;  // in logarithms
  };
  std::vector<Found> found;
  for (const Link& link : table) {
    if (link.name == expected.name || link.reach() < ranks || !may_become(expected, link)) continue;
    const Band band = band_of(link, ranks, measured.bytes);
    if (band.usual >= usual || band.standing(measured.bus_bandwidth) != Standing::within) continue;
    const bool sockets =
        network_family(between_of(link)) == kTcp && network_family(between_of(expected)) != kTcp;
    found.push_back({&link, sockets, std::abs(std::log(band.usual / measured.bus_bandwidth))});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.sockets != b.sockets ? a.sockets : a.off < b.off;
  });
  std::vector<const Link*> links;
  links.reserve(found.size());
  for (const Found& f : found) links.push_back(f.link);
  return links;
}

}  // namespace ddpx
