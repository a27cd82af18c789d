#include "predict/clusters.hpp"

#include <string>

#include "predict/fall_backs.hpp"

namespace ddpx {
namespace {

bool joins_nodes(const Link& link) { return link.topology == Topology::network; }
bool joins_gpus(const Link& link, const NodeLayout& layout) {
  return !joins_nodes(link) && link.reach() >= layout.gpus_per_node;
}

}  // namespace

std::vector<Link> alternatives(const Levels& levels, std::span<const Link> table) {
  const auto& [inside, between, layout, nics] = levels;
  std::vector<Link> links;
  for (const Link& link : table) {
    if (joins_nodes(link) && link.name != between.name && may_become(between, link)) {
      // Those NICs are not what another network goes over.
      const bool same_nics = network_family(link) == network_family(between);
      links.push_back(two_level(inside, link, layout, same_nics ? nics : std::nullopt));
    }
    if (layout.gpus_per_node > 1 && joins_gpus(link, layout) && link.name != inside.name &&
        may_become(inside, link))
      links.push_back(two_level(link, between, layout, nics));
  }
  const int wires = nics.value_or(between.per_gpu ? layout.gpus_per_node : 1);
  for (int fewer = 1; fewer < wires; fewer *= 2) {
    Link link = two_level(inside, between, layout, fewer);
    link.name += " with " + std::to_string(fewer) + (fewer == 1 ? " NIC" : " NICs") + " in a node";
    links.push_back(std::move(link));
  }
  return links;
}

std::vector<Link> every_cluster(const NodeLayout& layout, std::span<const Link> table) {
  std::vector<Link> links;
  for (const Link& between : table) {
    if (!joins_nodes(between)) continue;
    if (layout.gpus_per_node == 1) {
      links.push_back(two_level(Link{}, between, layout));
      continue;
    }
    for (const Link& inside : table) {
      if (joins_gpus(inside, layout)) links.push_back(two_level(inside, between, layout));
    }
  }
  return links;
}

}  // namespace ddpx
