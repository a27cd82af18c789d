// Which link a setting's ranks use: see setting.hpp.
#include <algorithm>
#include <set>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/setting.hpp"

namespace ddpx {

namespace {

const Curve* curve_on(const Link& link, int ranks) {
  const auto found = std::find_if(link.curves.begin(), link.curves.end(),
                                  [&](const Curve& curve) { return curve.ranks == ranks; });
  return found == link.curves.end() ? nullptr : &*found;
}

// Hosts of all curves, where they agree; nullopt for none and for not known.
std::optional<int> hosts_of(const Link& link) {
  std::optional<int> hosts;
  for (const Curve& curve : link.curves) {
    const std::optional<int> of_curve = link.hosts_of(curve);
    if (!of_curve || (hosts && hosts != of_curve)) return std::nullopt;
    hosts = of_curve;
  }
  return hosts;
}

bool of_unknown_hosts(const Link& link) {
  return std::any_of(link.curves.begin(), link.curves.end(),
                     [&](const Curve& curve) { return !link.hosts_of(curve); });
}

std::string layout_text(const NodeLayout& layout) {
  return std::to_string(layout.nodes) + "x" + std::to_string(layout.gpus_per_node);
}

std::string hosts_text(int hosts) {
  return hosts == 1 ? "one host" : std::to_string(hosts) + " hosts";
}

// `link` joins the ranks of all nodes, because it was measured on as many.
void check_measured(const Link& link, const Curve& curve, const NodeLayout& layout) {
  const std::optional<int> hosts = link.hosts_of(curve);
  if (!hosts || *hosts == layout.nodes) return;
  throw InputError(
      "--link", "'" + shown(link.name) + "' was measured on " + std::to_string(curve.ranks) +
                    " ranks of " + hosts_text(*hosts) + ", and --gpus " + layout_text(layout) +
                    " spreads them over " + std::to_string(layout.nodes) +
                    (*hosts == 1 ? "; add --inter-link, what joins the nodes (--list-links), or "
                                   "give a log of such nodes"
                                 : "; give the layout it was measured on, or name both levels by "
                                   "--link and --inter-link"));
}

}  // namespace

void use_hosts(Query& query) {
  const auto assume = [&](const Link& link, const std::string& taken) {
    query.warnings.push_back("link " + shown(link.name) +
                             ": its log does not say which hosts its ranks were on; taken as " +
                             taken);
  };
  const bool inside = !query.inter_link || std::any_of(query.gpus.begin(), query.gpus.end(),
                                                       [](const NodeLayout& layout) {
                                                         return layout.gpus_per_node > 1;
                                                       });
  if (query.inter_link) {
    const Link& between = *query.inter_link;
    if (hosts_of(between) == 1)
      throw InputError("--inter-link", "'" + shown(between.name) +
                                           "' was measured inside one host and joins no nodes; "
                                           "name a network (--list-links), its figures, or a log "
                                           "of ranks on several hosts");
    if (of_unknown_hosts(between)) assume(between, "between hosts here");
  }
  for (const Link& link : query.links) {
    if (query.inter_link && inside && hosts_of(link).value_or(1) > 1)
      throw InputError("--link", "'" + shown(link.name) + "' was measured over " +
                                     hosts_text(*hosts_of(link)) +
                                     " and does not say what is inside one; name that "
                                     "(--list-links), or leave out --inter-link where it was "
                                     "measured on the GPUs of --gpus");
    if (!link.topology_assumed || !of_unknown_hosts(link) || !inside) continue;
    const auto measured = [&](const NodeLayout& layout) {
      return layout.nodes > 1 && !query.inter_link && curve_on(link, layout.gpus()) != nullptr;
    };
    const auto nodes = std::find_if(query.gpus.begin(), query.gpus.end(), measured);
    assume(link,
           nodes == query.gpus.end()
               ? "inside one host (" + std::string(name(link.topology)) + ", by its bandwidth)"
               : layout_text(*nodes) + " here");
  }
}

Link link_of(const Query& query, const Link& link, const NodeLayout& layout) {
  if (layout.nodes == 1) return link;
  if (query.inter_link) return two_level(link, *query.inter_link, layout, query.nics);
  if (const Curve* curve = curve_on(link, layout.gpus())) {
    check_measured(link, *curve, layout);
    return link;
  }
  throw InputError("--gpus",
                   layout_text(layout) +
                       " needs --inter-link, what joins the nodes (--list-links), or a --link "
                       "measured on " +
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
