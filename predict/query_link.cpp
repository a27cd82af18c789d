// Which link a setting's ranks use: see setting.hpp.
#include <algorithm>
#include <set>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "model/topology_of.hpp"
#include "predict/request_gpus.hpp"
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

// One that was measured over several hosts.
const Curve* cluster_curve(const Link& link) {
  const auto found = std::find_if(link.curves.begin(), link.curves.end(), [&](const Curve& curve) {
    return link.hosts_of(curve).value_or(1) > 1;
  });
  return found == link.curves.end() ? nullptr : &*found;
}

// One that was measured inside a host, by its log.
const Curve* host_curve(const Link& link) {
  const auto found = std::find_if(link.curves.begin(), link.curves.end(),
                                  [&](const Curve& curve) { return link.hosts_of(curve) == 1; });
  return found == link.curves.end() ? nullptr : &*found;
}

// Whether all that it has was measured over several hosts, or nobody knows over how many.
bool says_nothing_inside(const Link& link) {
  return cluster_curve(link) != nullptr && host_curve(link) == nullptr;
}

// Inside a host: of a log of one host and of several, what it has of one.
Link inside_of(const Link& link) {
  if (cluster_curve(link) == nullptr || host_curve(link) == nullptr) return link;
  Link inside = link;
  std::erase_if(inside.curves, [&](const Curve& curve) { return link.hosts_of(curve) != 1; });
  inside.topology = topology_of({false, inside.bus_bandwidth()});
  inside.topology_assumed = true;
  return inside;
}

std::string layout_text(const NodeLayout& layout) {
  return std::to_string(layout.nodes) + "x" + std::to_string(layout.gpus_per_node);
}

std::string hosts_text(int hosts) {
  return hosts == 1 ? "one host" : std::to_string(hosts) + " hosts";
}

std::string measured_text(const Link& link, const Curve& curve) {
  const std::optional<int> hosts = link.hosts_of(curve);
  return "'" + shown(link.name) + "' was measured on " + std::to_string(curve.ranks) +
         " ranks of " + (hosts ? hosts_text(*hosts) : "hosts that its log does not name");
}

// The nodes that a curve is of, as --gpus has them; nullopt where its hosts are not alike.
std::optional<NodeLayout> nodes_of(const Link& link, const Curve& curve) {
  const int hosts = link.hosts_of(curve).value_or(1);
  if (curve.ranks % hosts != 0) return std::nullopt;
  return NodeLayout{hosts, curve.ranks / hosts};
}

// Nodes of as many GPUs each have as many NICs: a curve of some is carried over to more of them, or
// fewer, but says nothing of others. Where the hosts are not known it is taken as asked for.
bool says_of(const Link& link, const Curve& curve, const NodeLayout& layout) {
  const std::optional<int> hosts = link.hosts_of(curve);
  if (!hosts) return layout.gpus_per_node == 1 || curve.ranks == layout.gpus();
  return *hosts > 1 && curve.ranks == *hosts * layout.gpus_per_node;
}

// What one NIC gives: ranks alone on their hosts.
bool of_lone_ranks(const Link& link, const Curve& curve) {
  return link.hosts_of(curve).value_or(curve.ranks) == curve.ranks;
}

[[noreturn]] void refuse_nodes(std::string_view flag, const Link& link, const NodeLayout& layout,
                               bool alone) {
  const std::string both = "name both levels by --link and --inter-link (--list-links)";
  const std::string instead =
      alone ? "name what joins the nodes by --inter-link (--list-links) and leave --link out, for "
              "nothing travels inside a node of one GPU"
            : "add --inter-link, what joins the nodes (--list-links)";
  const std::string gpus = "--gpus " + layout_text(layout);
  if (const Curve* curve = cluster_curve(link)) {
    const bool between = flag != "--link";
    const auto nodes = nodes_of(link, *curve);
    const std::string as_link = between ? "give it as --link with --gpus "
                                        : "give nodes of as many GPUs as it had, as --gpus ";
    throw InputError(flag,
                     measured_text(link, *curve) + ", and " + gpus + " has " +
                         std::to_string(layout.gpus_per_node) + " on each; " +
                         (nodes ? as_link + layout_text(*nodes) + ", or " : "") +
                         (alone || between ? "name another network by --inter-link in place of it "
                                             "(--list-links)"
                                           : both));
  }
  const Curve* same = curve_on(link, layout.gpus());
  if (same != nullptr)
    throw InputError(flag, measured_text(link, *same) + ", and " + gpus + " spreads them over " +
                               std::to_string(layout.nodes) + "; " + instead);
  if (of_unknown_hosts(link))
    throw InputError(flag, measured_text(link, link.curves.front()) + ", and " + gpus + " has " +
                               std::to_string(layout.gpus()) + " GPUs; give nodes of " +
                               std::to_string(link.curves.front().ranks) + " together, or " + both);
  throw InputError("--gpus", layout_text(layout) + " needs --inter-link: " + instead +
                                 ", or give a --link measured on " + std::to_string(layout.gpus()) +
                                 " ranks of such nodes");
}

// A link that was measured on nodes, as it is on these.
Link over_nodes(std::string_view flag, const Link& link, const NodeLayout& layout, bool alone) {
  Link joined = link;
  std::erase_if(joined.curves, [&](const Curve& curve) { return !says_of(link, curve, layout); });
  if (joined.curves.empty()) refuse_nodes(flag, link, layout, alone);
  joined.topology = Topology::network;
  return joined;
}

// The wire of a node for two_level().
Link wire_of(const Link& between) {
  Link wire = between;
  std::erase_if(wire.curves, [&](const Curve& curve) { return !of_lone_ranks(between, curve); });
  return wire;
}

// Between hosts a log is either of a cluster as it is asked for, or of one NIC: a figure over hosts
// of several GPUs holds both levels, and more than its wire where a tree joins them.
void check_between(const Link& between, const NodeLayout& layout, bool alone) {
  constexpr const char* kFlag = "--inter-link";
  if (layout.nodes == 1 || between.curves.empty()) return;
  if (hosts_of(between) == 1)
    throw InputError(kFlag, "'" + shown(between.name) +
                                "' was measured inside one host and joins no nodes; name a network "
                                "(--list-links), its figures, or a log of ranks on several hosts");
  if (layout.gpus_per_node == 1) {
    static_cast<void>(over_nodes(kFlag, between, layout, alone));
    return;
  }
  const Curve* same = curve_on(between, layout.gpus());
  const bool as_asked = same != nullptr && !between.hosts_of(*same);
  if (!as_asked && !wire_of(between).curves.empty()) return;
  const Curve& curve = as_asked ? *same : *cluster_curve(between);
  const std::optional<NodeLayout> nodes = as_asked ? layout : nodes_of(between, curve);
  throw InputError(kFlag,
                   measured_text(between, curve) + ", which is both levels of a cluster; " +
                       (nodes ? "give it as the only --link, without --inter-link, with --gpus " +
                                    layout_text(*nodes) + ", or "
                              : "") +
                       "name a network here (--list-links), its figures, or a log of hosts of one "
                       "rank each");
}

// More ranks than a host joins, on hosts that the log does not name, say nothing of one host.
void check_many(const Link& link, const NodeLayout& layout) {
  if (layout.nodes > 1 || layout.gpus() < 2) return;
  const Curve& curve =
      *std::max_element(link.curves.begin(), link.curves.end(),
                        [](const Curve& a, const Curve& b) { return a.ranks < b.ranks; });
  throw InputError("--gpus", std::to_string(layout.gpus()) + " is GPUs of one host, and " +
                                 measured_text(link, curve) +
                                 ": no host joins so many; give its nodes, as --gpus " +
                                 layout_text({std::max(2, curve.ranks / 8), 8}) +
                                 ", or a log with its \"# Rank\" lines");
}

// A count without nodes is GPUs of one host.
void check_inside(const Link& link, const NodeLayout& layout) {
  const Curve* curve = cluster_curve(link);
  if (layout.nodes > 1 || layout.gpus() < 2 || curve == nullptr) return;
  // Of a log of both it is carried from those of one host, unless it asks for all of the others'.
  const bool all = curve->ranks == layout.gpus();
  if (!says_nothing_inside(link) && !all) return;
  const auto nodes = nodes_of(link, *curve);
  throw InputError("--gpus",
                   std::to_string(layout.gpus()) + " is GPUs of one host, and " +
                       measured_text(link, *curve) + "; give " +
                       (nodes ? "its nodes, as --gpus " + layout_text(*nodes) + ", or " : "") +
                       "a --link inside a host (--list-links)");
}

}  // namespace

void use_hosts(Query& query) {
  const auto assume = [&](const Link& link, const std::string& taken) {
    query.warnings.push_back("link " + shown(link.name) +
                             ": its log does not say which hosts its ranks were on; taken as " +
                             taken);
  };
  const std::string one_each = "one rank on each host";
  const bool alone = alone_in_nodes(query.gpus);
  if (query.inter_link) {
    for (const NodeLayout& layout : query.gpus) check_between(*query.inter_link, layout, alone);
    if (of_unknown_hosts(*query.inter_link)) assume(*query.inter_link, one_each);
    if (alone) return;
  }
  for (const Link& link : query.links) {
    if (query.inter_link && says_nothing_inside(link))
      throw InputError("--link", "'" + shown(link.name) + "' was measured over " +
                                     hosts_text(*link.hosts_of(*cluster_curve(link))) +
                                     " and does not say what is inside one; name that "
                                     "(--list-links), or leave out --inter-link where --gpus has "
                                     "the nodes that it was measured on");
    for (const NodeLayout& layout : query.gpus) check_inside(link, layout);
    if (!link.topology_assumed || !of_unknown_hosts(link)) continue;
    if (link.topology == Topology::network && !query.inter_link)
      for (const NodeLayout& layout : query.gpus) check_many(link, layout);
    const auto joins = [&](const NodeLayout& layout) {
      return layout.nodes > 1 && !query.inter_link &&
             (layout.gpus_per_node == 1 || curve_on(link, layout.gpus()) != nullptr);
    };
    const auto nodes = std::find_if(query.gpus.begin(), query.gpus.end(), joins);
    if (nodes == query.gpus.end() && link.topology == Topology::network) {
      assume(link, one_each);
    } else if (nodes == query.gpus.end()) {
      assume(link, "inside one host (" + std::string(name(link.topology)) + ", by its bandwidth)");
    } else {
      assume(link, nodes->gpus_per_node == 1 ? one_each : layout_text(*nodes) + " here");
    }
  }
}

Link link_of(const Query& query, const Link& link, const NodeLayout& layout) {
  if (layout.nodes == 1) return inside_of(link);
  const bool alone = alone_in_nodes(query.gpus);
  if (!query.inter_link) return over_nodes("--link", link, layout, alone);
  const Link& between = *query.inter_link;
  if (layout.gpus_per_node == 1 && !between.curves.empty())
    return over_nodes("--inter-link", between, layout, alone);
  return two_level(inside_of(link), wire_of(between), layout, query.nics);
}

std::optional<std::string> assumed_nics(const Query& query) {
  if (!query.inter_link || query.nics) return std::nullopt;
  const bool per_gpu = query.inter_link->per_gpu;
  std::set<int> counts;
  for (const NodeLayout& layout : query.gpus) {
    if (layout.nodes > 1 && layout.gpus_per_node > 1)
      counts.insert(per_gpu ? layout.gpus_per_node : 1);
  }
  if (counts.empty()) return std::nullopt;
  std::string text;
  for (const int count : counts) text += (text.empty() ? "" : " or ") + std::to_string(count);
  return "--nics is not given: a node is taken to have " + text +
         (counts == std::set<int>{1} ? " NIC" : " NICs") + " of " + shown(query.inter_link->name) +
         (per_gpu ? ", one for each GPU" : " for all its GPUs");
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
