// Which link a setting's ranks use: see setting.hpp.
#include <algorithm>
#include <set>

#include "model/error.hpp"
#include "predict/setting.hpp"

namespace ddpx {

Link link_of(const Query& query, const Link& link, const NodeLayout& layout) {
  if (layout.nodes == 1) return link;
  if (query.inter_link) return two_level(link, *query.inter_link, layout, query.nics);
  const bool measured =
      std::any_of(link.curves.begin(), link.curves.end(),
                  [&](const Curve& curve) { return curve.ranks == layout.gpus(); });
  if (measured) return link;
  throw InputError(
      "--gpus",
      std::to_string(layout.nodes) + "x" + std::to_string(layout.gpus_per_node) +
          " needs --inter-link, what joins the nodes (--list-links), or a --link measured on " +
          std::to_string(layout.gpus()) + " ranks");
}

const Link& link_at_channels(const Machine& machine, const Link& link, const Strategy& strategy) {
  if (!strategy.channels || *strategy.channels == link.channels) return link;
  // Figures and logs are of whatever channels they ran with.
  const Link* measured = machine.find_link(link.name);
  if (measured == nullptr || measured->channels == 0 || measured->curves.empty()) return link;
  const std::string wanted = std::to_string(*strategy.channels);
  if (const Link* other = machine.find_link(link.name + "-" + wanted + "ch")) return *other;
  std::set<int> counts{link.channels};
  for (const Link& other : machine.links) {
    if (other.name == link.name + "-" + std::to_string(other.channels) + "ch")
      counts.insert(other.channels);
  }
  std::string known;
  for (int count : counts) known += (known.empty() ? "" : ", ") + std::to_string(count);
  throw InputError("--strategy",
                   "'" + describe(strategy) + "' changes what " + link.name +
                       " costs, and machine " + machine.name + " has measured it with " + known +
                       " channels only; name one of these, or measure it by ddpx-calibrate "
                       "--only-link --channels " +
                       wanted);
}

}  // namespace ddpx
