// --check-link: what the file says of the box, and what it is held against.
#include <algorithm>

#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/nccl_tests.hpp"
#include "io/nvbandwidth.hpp"
#include "io/one_line.hpp"
#include "io/topology_matrix.hpp"
#include "model/error.hpp"
#include "predict/clusters.hpp"
#include "predict/link_text.hpp"
#include "predict/request_gpus.hpp"
#include "predict/resolve.hpp"
#include "predict/setting.hpp"

namespace ddpx {
namespace {

bool falls(const Curve& curve) {
  constexpr double kMuch = 1.2;
  double best = 0;
  double last = 0;
  for (const CurvePoint& point : curve.points()) {
    last = (point.bytes / point.time).value();
    best = std::max(best, last);
  }
  return best > kMuch * last;
}

std::vector<std::string> notes_of(const io::NcclImport& import) {
  constexpr std::size_t kMostRows = 5;
  std::vector<std::string> notes;
  for (const io::DroppedRow& row : import.dropped) {
    if (notes.size() == kMostRows) {
      notes.push_back(std::to_string(import.dropped.size() - kMostRows) + " more rows left out");
      break;
    }
    notes.push_back(import.row_word + " " + std::to_string(row.line) + " left out: " + row.reason);
  }
  notes.insert(notes.end(), import.notes.begin(), import.notes.end());
  return notes;
}

// The part of a message's time that a line through it and a smaller one leaves for no bytes. Of a
// single size it is not known: none is taken of a large one, all of a small one.
double latency_share(const CurvePoint& small, const CurvePoint& message) {
  constexpr Bytes kSmall{64.0 * kKiB};
  if (!(small.bytes < message.bytes)) return message.bytes < kSmall ? 1 : 0;
  const double bytes = small.bytes / message.bytes;
  return std::clamp((small.time / message.time - bytes) / (1 - bytes), 0.0, 1.0);
}

// The figure of a log is its best, by the largest message that reaches it within what two runs of
// one size differ by: on a flat curve a small message may be the best by chance, and a small one is
// expected to be slow.
constexpr double kAsGood = 0.98;

MeasuredLink measured_log(const std::string& text, const std::string& place) {
  const io::NcclImport import = io::read_nccl_tests(text, place);
  const Link link = link_of_log(import);
  for (const Curve& curve : link.curves) {
    if (curve.kind != Collective::all_reduce) continue;
    MeasuredLink measured{"all_reduce on " + std::to_string(curve.ranks) + " ranks", curve.ranks,
                          curve.peak_bus_bandwidth(), falls(curve)};
    const auto rate = [&](const CurvePoint& point) {
      return point.bytes / point.time * bus_factor(curve.kind, curve.ranks);
    };
    BytesPerSecond best{};
    for (const CurvePoint& point : curve.points()) best = std::max(best, rate(point));
    for (const CurvePoint& point : curve.points()) {
      if (rate(point) < best * kAsGood) continue;
      measured.bus_bandwidth = rate(point);
      measured.bytes = point.bytes;
      measured.latency_share = latency_share(curve.points().front(), point);
    }
    measured.notes = notes_of(import);
    measured.assumptions = import.assumptions;
    const io::RankPlaces places = io::places_of(import, curve.ranks);
    measured.hosts = places.hosts;
    measured.ranks_per_host = places.ranks_per_host;
    if (places.hosts > 1) measured.what += " of " + std::to_string(places.hosts) + " hosts";
    return measured;
  }
  throw InputError(place, "holds no all_reduce; run all_reduce_perf");
}

MeasuredLink measured_copies(const std::string& text, const std::string& place) {
  const io::NvBandwidth measured = io::read_nvbandwidth(text, place);
  const auto slowest = io::slowest_pair(measured);
  if (!slowest)
    throw InputError(place,
                     "holds no copies between GPUs; run nvbandwidth -t "
                     "device_to_device_memcpy_read_ce");
  MeasuredLink copies{"copies between GPUs", 2, *slowest};
  copies.copies = true;
  return copies;
}

// "the log's 16 ranks are on 2 hosts, 8 on each (2x8)".
std::string places_text(const MeasuredLink& m) {
  const std::string ranks = "the log's " + std::to_string(m.ranks) + " ranks are on ";
  if (m.hosts == 1) return ranks + "one host";
  const std::string hosts = ranks + std::to_string(m.hosts) + " hosts";
  if (m.ranks_per_host == 0) return hosts + ", not as many on each";
  return hosts + ", " + std::to_string(m.ranks_per_host) + " on each (" + std::to_string(m.hosts) +
         "x" + std::to_string(m.ranks_per_host) + ")";
}

constexpr const char* kHostsUnknown = "the log does not say which hosts its ranks are on: ";

// Layouts have as many GPUs on every node.
void check_even(const MeasuredLink& m) {
  if (m.hosts > 1 && m.ranks_per_host == 0)
    throw InputError("--check-link", places_text(m) +
                                         ", which no layout of --gpus describes; run "
                                         "all_reduce_perf on as many of each");
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
  if (m.hosts > 0 && (m.hosts != layout.nodes || m.ranks_per_host != layout.gpus_per_node))
    throw InputError("--gpus", given + "is not how the log's ranks are spread: " + places_text(m) +
                                   (m.hosts == 1 ? "; leave out --gpus and --inter-link"
                                                 : "; leave --gpus out"));
  return layout;
}

// How the log's ranks are spread over nodes: as its rank lines say, else --gpus; else they are
// taken as one node's.
NodeLayout layout_of(const Options& options, MeasuredLink& m) {
  check_even(m);
  if (options.gpus) {
    const NodeLayout layout = layout_given(options, m);
    if (m.hosts == 0)
      m.assumptions.push_back(kHostsUnknown + std::string("taken as ") +
                              std::to_string(layout.nodes) + " nodes of " +
                              std::to_string(layout.gpus_per_node) + ", as --gpus says");
    return layout;
  }
  if (options.inter_link && m.hosts < 2)
    throw InputError("--inter-link", m.hosts == 1
                                         ? "joins nodes, and " + places_text(m) + "; leave it out"
                                         : "joins nodes; " + std::string(kHostsUnknown) +
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
    measured.assumptions.push_back(kHostsUnknown + hosts_assumed(measured, expected, curve));
  if (measured.hosts == 1 && curve != nullptr && !expected.hosts_of(*curve))
    measured.assumptions.push_back(
        "--link does not say which hosts its ranks are on: taken as one");
  std::vector<Link> others;
  for (const Link& link : table) {
    if (by_figures || network == (link.topology == Topology::network)) others.push_back(link);
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
  if (measured.copies) return check_link(measured, table);
  check_even(measured);
  if (measured.hosts > 1)
    return check_link(measured, every_cluster({measured.hosts, measured.ranks_per_host}, table));
  if (measured.hosts == 0) {
    measured.assumptions.push_back(
        kHostsUnknown +
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
  if (measured.copies && !(link.peak.value() > 0))
    throw InputError("--link", "'" + io::one_line(name) +
                                   "' has no rate of one direction, which copies are held "
                                   "against; name a link of --list-links");
  return check_one_level(measured, link, table, looks_like_figures(name) && link.curves.empty());
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
  const MeasuredLink measured =
      io::looks_like_nvbandwidth(text) ? measured_copies(text, place) : measured_log(text, place);
  return names_link(options) ? check_named(measured, options, resolvers, table)
                             : check_unnamed(measured, table);
}

}  // namespace ddpx
