// --check-link: what the file says of the box, and what it is held against.
#include <algorithm>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/nvbandwidth.hpp"
#include "io/one_line.hpp"
#include "io/topology_matrix.hpp"
#include "model/error.hpp"
#include "predict/check_link_log.hpp"
#include "predict/clusters.hpp"
#include "predict/link_text.hpp"
#include "predict/request_gpus.hpp"
#include "predict/resolve.hpp"
#include "predict/setting.hpp"

namespace ddpx {
namespace {

// "2 hosts, 8 on each (2x8)".
std::string places_of(const MeasuredLink& m) {
  if (m.hosts == 1) return "one host";
  return std::to_string(m.hosts) + " hosts, " + std::to_string(m.ranks_per_host) + " on each (" +
         std::to_string(m.hosts) + "x" + std::to_string(m.ranks_per_host) + ")";
}

// "the log's 16 ranks are on 2 hosts, 8 on each (2x8)".
std::string places_text(const MeasuredLink& m) {
  return (m.placed_by.empty() ? "the log's " + std::to_string(m.ranks) + " ranks are on "
                              : "the log's rank lines are cut, and its " + std::to_string(m.ranks) +
                                    " ranks taken as on ") +
         places_of(m);
}

// "the log does not say which hosts its ranks are on: ", or what is missing for that.
std::string hosts_unknown(const MeasuredLink& m) {
  return (m.unplaced.empty() ? "the log does not say which hosts its ranks are on" : m.unplaced) +
         ": ";
}

// Of --gpus, which the log must not contradict.
NodeLayout layout_given(const Options& options, const MeasuredLink& m) {
  const std::string given = "'" + io::one_line(*options.gpus) + "' ";
  const std::vector<NodeLayout> layouts = gpus_of(options);
  const NodeLayout& layout = layouts.front();
  if (layouts.size() != 1 || layout.nodes < 2)
    throw InputError("--gpus", given +
                                   "is not how the log's ranks are spread over the nodes that "
                                   "--inter-link joins; accepted: one layout, as 2x8");
  if (layout.gpus() != m.ranks)
    throw InputError("--gpus", given + "is " + std::to_string(layout.gpus()) +
                                   " GPUs, and the log has " + std::to_string(m.ranks) + " ranks");
  const bool may_be =
      std::find(m.or_each.begin(), m.or_each.end(), layout.gpus_per_node) != m.or_each.end();
  if (m.hosts > 0 && !may_be &&
      (m.hosts != layout.nodes || m.ranks_per_host != layout.gpus_per_node))
    throw InputError("--gpus", given + "is not how the log's ranks are spread: " + places_text(m) +
                                   (m.hosts == 1 ? "; leave out --gpus and --inter-link"
                                                 : "; leave --gpus out"));
  return layout;
}

// How the log's ranks are spread over nodes: as its rank lines say, else --gpus; else they are
// taken as one node's.
NodeLayout layout_of(const Options& options, MeasuredLink& m) {
  if (options.gpus) {
    const NodeLayout layout = layout_given(options, m);
    if (m.hosts > 0 && m.hosts != layout.nodes) {
      std::erase(m.assumptions, m.placed_by);
      m.hosts = layout.nodes;
      m.ranks_per_host = layout.gpus_per_node;
      m.what = all_reduce_on(m.ranks, m.hosts);
      m.assumptions.push_back("the log's rank lines are cut: taken as " + places_of(m) +
                              ", as --gpus says");
    }
    if (m.hosts == 0)
      m.assumptions.push_back(hosts_unknown(m) + "taken as " + std::to_string(layout.nodes) +
                              " nodes of " + std::to_string(layout.gpus_per_node) +
                              ", as --gpus says");
    return layout;
  }
  if (options.inter_link && m.hosts < 2)
    throw InputError("--inter-link", m.hosts == 1
                                         ? "joins nodes, and " + places_text(m) + "; leave it out"
                                         : "joins nodes; " + hosts_unknown(m) +
                                               "say how they are spread, as --gpus 2x8");
  if (m.hosts > 1) return {m.hosts, m.ranks_per_host};
  return {1, m.ranks};
}

// The link's curve on as many ranks; nullptr where there is none.
const Curve* measured_on(const Link& link, int ranks) {
  const auto found = std::find_if(link.curves.begin(), link.curves.end(),
                                  [&](const Curve& curve) { return curve.ranks == ranks; });
  return found == link.curves.end() ? nullptr : &*found;
}

// As many as --gpus has, where that is one layout.
std::optional<int> ranks_of_gpus(const Options& options) {
  if (!options.gpus) return std::nullopt;
  const std::vector<NodeLayout> layouts = gpus_of(options);
  return layouts.size() == 1 ? std::optional(layouts.front().gpus()) : std::nullopt;
}

// Of a log's tables those that can answer: inside a host where nothing names what joins hosts.
WantedTable wanted(const Options& options, const std::vector<Link>& table) {
  WantedTable tables{ranks_of_gpus(options), std::nullopt};
  if (options.inter_link) {
    tables.one_host = false;
  } else if (!options.links.empty()) {
    const std::string& name = options.links.front();
    const auto link = std::find_if(table.begin(), table.end(),
                                   [&](const Link& known) { return known.name == name; });
    if (link != table.end()) tables.one_host = link->topology != Topology::network;
    if (looks_like_figures(name)) tables.one_host = true;
  }
  return tables;
}

// What of the hosts is taken where the log does not say: as those that `expected` joins.
std::string hosts_assumed(const MeasuredLink& m, const Link& expected, const Curve* curve) {
  if (const auto hosts = curve == nullptr ? std::nullopt : expected.hosts_of(*curve))
    return "taken as on " + std::to_string(*hosts) + (*hosts == 1 ? " host" : " hosts") +
           ", as those of --link";
  if (curve != nullptr)
    return "taken as spread like those of --link, whose log does not say either";
  if (expected.topology == Topology::network)
    return "taken as one on each of " + std::to_string(m.ranks) + " hosts";
  return "taken as one host";
}

// One link that joins all ranks, and those of the table that may as well.
LinkCheck check_one_level(MeasuredLink measured, const Link& expected,
                          const std::vector<Link>& table, bool by_figures) {
  const bool network = expected.topology == Topology::network;
  const Curve* curve = measured_on(expected, measured.ranks);
  const bool several =
      curve == nullptr ? network && !by_figures : expected.hosts_of(*curve).value_or(1) > 1;
  if (measured.hosts == 1 && several)
    throw InputError("--link", "'" + io::one_line(expected.name) + "' joins hosts, and " +
                                   places_text(measured) + "; name what is inside it");
  if (measured.hosts == 0 && !measured.copies && !by_figures)
    measured.assumptions.push_back(hosts_unknown(measured) +
                                   hosts_assumed(measured, expected, curve));
  if (measured.hosts == 1 && curve != nullptr && !expected.hosts_of(*curve))
    measured.assumptions.emplace_back(
        "--link does not say which hosts its ranks are on: taken as one");
  std::vector<Link> others;
  for (const Link& link : table) {
    const bool joins_hosts = link.topology == Topology::network;
    const bool possible = measured.hosts == 0 || joins_hosts == (measured.hosts > 1);
    if (by_figures ? possible : network == joins_hosts) others.push_back(link);
  }
  return check_link(measured, expected, others);
}

// Nodes: what joins them and what is inside, or a link that was measured over such nodes.
LinkCheck check_nodes(const MeasuredLink& measured, const NodeLayout& layout, Options options,
                      const Resolvers& resolvers, const std::vector<Link>& table) {
  const Machine machine = resolvers.machine(options.machine);
  if (!options.inter_link) {
    const Link given = resolvers.link("--link", options.links.front(), machine);
    if (measured_on(given, layout.gpus()) != nullptr) {
      Query query;
      query.links = {given};
      query.gpus = {layout};
      use_hosts(query);
      LinkCheck check =
          check_link(measured, link_of(query, given, layout), every_cluster(layout, table));
      check.warnings = query.warnings;
      return check;
    }
    if (layout.gpus_per_node > 1)
      throw InputError("--inter-link",
                       "is missing: " + places_text(measured) +
                           "; give what is inside a host and what joins them, as --link nvlink4 "
                           "--inter-link infiniband-ndr (--list-links)");
    options.inter_link = options.links.front();
    options.links.clear();
  }
  if (options.links.empty() && layout.gpus_per_node > 1)
    throw InputError("--inter-link", "joins nodes, and what is inside each is missing: --link");
  options.gpus = std::to_string(layout.nodes) + "x" + std::to_string(layout.gpus_per_node);
  const Query query = links_joining(layout, options, machine, resolvers);
  const Link expected = link_of(query, query.links.front(), layout);
  const Levels levels{query.links.front(), *query.inter_link, layout, query.nics};
  LinkCheck check = check_link(measured, expected, alternatives(levels, table));
  check.warnings = query.warnings;
  return check;
}

// Where nothing is named: every link, or cluster, that may join the log's ranks.
LinkCheck check_unnamed(MeasuredLink measured, const std::vector<Link>& table) {
  if (measured.hosts > 1)
    return check_link(measured, every_cluster({measured.hosts, measured.ranks_per_host}, table));
  if (measured.hosts == 0 && !measured.copies) {
    measured.assumptions.push_back(
        hosts_unknown(measured) +
        std::string("those of one host and networks of one rank on each are listed"));
    return check_link(measured, table);
  }
  std::vector<Link> inside;
  for (const Link& link : table) {
    if (link.topology != Topology::network) inside.push_back(link);
  }
  return check_link(measured, inside);
}

// Against what was named.
LinkCheck check_named(MeasuredLink measured, const Options& options, const Resolvers& resolvers,
                      const std::vector<Link>& table) {
  if (measured.copies && options.inter_link)
    throw InputError("--inter-link", "joins nodes, and these copies are inside one; leave it out");
  const NodeLayout layout =
      measured.copies ? NodeLayout{1, measured.ranks} : layout_of(options, measured);
  if (layout.nodes > 1) return check_nodes(measured, layout, options, resolvers, table);
  const Machine machine = resolvers.machine(options.machine);
  const std::string& name = options.links.front();
  const Link link = resolvers.link("--link", name, machine);
  if (measured.copies && link.topology == Topology::network && !given_by_figures(link))
    throw InputError("--link", "'" + io::one_line(name) +
                                   "' joins hosts, and these copies are inside one; name what is "
                                   "inside it (--list-links)");
  if (measured.copies && !(link.peak.value() > 0))
    throw InputError("--link", "'" + io::one_line(name) +
                                   "' has no rate of one direction, which copies are held "
                                   "against; name a link of --list-links");
  return check_one_level(measured, link, table, given_by_figures(link));
}

}  // namespace

LinkCheck check_link_file(const Options& options, const Resolvers& resolvers) {
  const std::string& path = options.check_link.value();
  const std::string text = io::read_log(path);
  const std::string place = io::shown_path(path);
  const std::vector<Link> table = io::interconnects();
  if (io::looks_like_topology_matrix(text)) {
    if (names_link(options))
      throw InputError(options.links.empty() ? "--inter-link" : "--link",
                       "cannot change what a topology matrix says; leave it out");
    const io::TopologyMatrix matrix = io::read_topology_matrix(text, place);
    return expected_of_paths(matrix.paths, matrix.nics, table);
  }
  const MeasuredLink measured = io::looks_like_nvbandwidth(text)
                                    ? measured_copies(text, place)
                                    : measured_log(text, place, wanted(options, table));
  return names_link(options) ? check_named(measured, options, resolvers, table)
                             : check_unnamed(measured, table);
}

}  // namespace ddpx
