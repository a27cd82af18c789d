#include "predict/measured_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/request_gpus.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr double kSameSize = 1.001;

// The largest message measured, where none is large enough to give a bandwidth; nullopt where one
// is, and for figures. Curves are those that price() takes: of the collective itself where it was
// measured, on the nearest rank count.
std::optional<Bytes> too_small_sizes(const Link& link, Collective kind, int ranks) {
  const bool measured = std::any_of(link.curves.begin(), link.curves.end(),
                                    [&](const Curve& curve) { return curve.kind == kind; });
  double nearest = std::numeric_limits<double>::infinity();
  std::optional<Bytes> largest;
  for (const Curve& curve : link.curves) {
    if (measured && curve.kind != kind) continue;
    const double far = std::abs(std::log2(static_cast<double>(curve.ranks) / ranks));
    if (far > nearest) continue;
    // Of two as near the better one speaks. Lines without points are a reading of their author's.
    const bool known_better = far == nearest && !largest;
    if (far < nearest) largest.reset();
    nearest = far;
    if (known_better || curve.shows_bandwidth()) {
      largest.reset();
    } else {
      largest = std::max(largest.value_or(Bytes{}), curve.largest());
    }
  }
  return largest;
}

void check_link(const char* flag, const Link& link, Collective kind, int ranks, Bytes message) {
  const std::optional<Bytes> most = too_small_sizes(link, kind, ranks);
  if (!most || message <= *most * kSameSize) return;
  throw InputError(
      flag, "'" + shown(link.name) + "' was measured up to messages of " + size_text(*most) +
                ", which show its latency and not its bandwidth, and here " + size_text(message) +
                " go in one message; measure it up to 1 GiB (all_reduce_perf -b 8 "
                "-e 1G -f 2), or name another link (--list-links) or its figures");
}

bool any_small(const Link& link) {
  return !std::all_of(link.curves.begin(), link.curves.end(),
                      [](const Curve& curve) { return curve.shows_bandwidth(); });
}

// Over what joins all ranks of the layout: `given`, and between nodes the query's.
void check_size(const Query& query, const Link& given, const NodeLayout& layout, Collective kind,
                Bytes message) {
  const bool joined = layout.nodes > 1 && query.inter_link.has_value();
  if (joined) check_link("--inter-link", *query.inter_link, kind, layout.nodes, message);
  // Inside a node of one GPU nothing travels.
  if (joined && alone_in_nodes(query.gpus)) return;
  check_link("--link", given, kind, joined ? layout.gpus_per_node : layout.gpus(), message);
}

}  // namespace

void check_sizes(const Query& query, const Link& given, const NodeLayout& layout,
                 std::span<const Exchange> exchanges) {
  std::map<Collective, Bytes> largest;
  for (const Exchange& exchange : exchanges)
    largest[exchange.kind] = std::max(largest[exchange.kind], exchange.message);
  for (const auto& [kind, message] : largest) check_size(query, given, layout, kind, message);
}

bool has_small_sizes(const Setting& setting) {
  const Query& query = setting.query;
  return any_small(setting.given ? *setting.given : setting.link) ||
         (query.inter_link && any_small(*query.inter_link));
}

void check_sizes(const Setting& setting, const NodeLayout& layout) {
  if (setting.job.gpus < 2 || !setting.job.strategy.sync || !has_small_sizes(setting)) return;
  const Query& query = setting.query;
  for (const NetworkSeries& series : query.networks) {
    // Of a sweep the last has the largest messages.
    const Network network = series.at(series.sweep.empty() ? 0 : series.sweep.back());
    const StepModel model(query.machine, setting.products, setting.link, network, setting.job);
    check_sizes(query, setting.given ? *setting.given : setting.link, layout, model.exchanges());
  }
}

}  // namespace ddpx
