#include "io/link_json.hpp"

#include <set>
#include <tuple>

#include "io/curve_json.hpp"
#include "io/estimate_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

const std::vector<std::string_view> kLinkMembers = {"name",
                                                    "title",
                                                    "topology",
                                                    "topology_assumed",
                                                    "latency_s",
                                                    "large_latency_s",
                                                    "bandwidth_bytes_per_s",
                                                    "bandwidth_low_bytes_per_s",
                                                    "bandwidth_high_bytes_per_s",
                                                    "peak_bytes_per_s",
                                                    "per_gpu",
                                                    "most_ranks",
                                                    "channels",
                                                    "beside_compute",
                                                    "beside_memory",
                                                    "beside_flops",
                                                    "beside_copies",
                                                    "shared_core",
                                                    "burst_s",
                                                    "curves",
                                                    "source"};

Link figures_of(const Reader& from) {
  Link link;
  link.name = from.at("name").label();
  link.title = text_or_empty(from, "title");
  link.topology = topology_of(from.at("topology"));
  if (const auto assumed = from.find("topology_assumed"))
    link.topology_assumed = assumed->boolean();
  if (const auto latency = from.find("latency_s"))
    link.latency = estimate_of<Seconds>(*latency, kLatency);
  if (const auto latency = from.find("large_latency_s")) {
    link.large_latency = estimate_of<Seconds>(*latency, kLatency);
  }
  if (const auto bandwidth = from.find("bandwidth_bytes_per_s")) {
    link.bandwidth = estimate_of<BytesPerSecond>(*bandwidth, kLinkRate);
    (void)from.at("latency_s");
  }
  if (const auto low = from.find("bandwidth_low_bytes_per_s")) {
    link.bandwidth_low = BytesPerSecond(low->plausible(kLinkRate));
  }
  if (const auto high = from.find("bandwidth_high_bytes_per_s")) {
    link.bandwidth_high = BytesPerSecond(high->plausible(kLinkRate));
    if (link.bandwidth_high < link.bandwidth_low) {
      high->refuse_value("a number from bandwidth_low_bytes_per_s up");
    }
  }
  if (const auto peak = from.find("peak_bytes_per_s")) {
    link.peak = BytesPerSecond(peak->plausible(kLinkRate));
  }
  if (const auto per_gpu = from.find("per_gpu")) link.per_gpu = per_gpu->boolean();
  if (const auto most = from.find("most_ranks")) link.most_ranks = most->integer(2, kMostRanks);
  if (const auto channels = from.find("channels")) {
    link.channels = channels->integer(1, kMostChannels);
  }
  if (const auto factor = from.find("beside_compute")) {
    link.beside_compute = estimate_of<double>(*factor, kFactor);
  }
  if (const auto memory = from.find("beside_memory")) {
    link.beside_memory = estimate_of<double>(*memory, kSlowdown);
  }
  if (const auto flops = from.find("beside_flops")) {
    link.beside_flops = estimate_of<double>(*flops, kSlowdown);
  }
  if (const auto copies = from.find("beside_copies")) {
    copies->only({"collective", "copy", "rate_bytes_per_s"});
    link.beside_copies = {estimate_of<double>(copies->at("collective"), kFactor),
                          estimate_of<double>(copies->at("copy"), kFactor),
                          BytesPerSecond(copies->at("rate_bytes_per_s").plausible(kLinkRate))};
  }
  if (const auto core = from.find("shared_core")) link.shared_core = shared_core_of(*core);
  if (const auto burst = from.find("burst_s")) link.burst = estimate_of<Seconds>(*burst, kBurst);
  link.source = text_or_empty(from, "source");
  return link;
}

// The members of a link; `from` may have others, which the caller checks.
Link link_of(const Reader& from) {
  Link link = figures_of(from);
  std::set<std::tuple<Collective, DType, int>> seen;
  if (const auto curves = from.find("curves")) {
    for (const Reader& element : curves->elements()) {
      const Curve curve = curve_of(element);
      if (!seen.emplace(curve.kind, curve.dtype, curve.ranks).second) {
        element.refuse("is a second curve of " + std::string(name(curve.kind)) + " in " +
                       std::string(name(curve.dtype)) + " on " + std::to_string(curve.ranks) +
                       " ranks; keep one");
      }
      link.curves.push_back(curve);
    }
  }
  if (link.curves.empty() && link.bandwidth.value.value() == 0) {
    from.refuse(R"(has neither "curves" nor "bandwidth_bytes_per_s"; one of them is required)");
  }
  return link;
}

template <class Q>
void append_known(JsonObject& members, const char* key, const Estimate<Q>& estimate) {
  if (estimate.value.value() > 0) members.emplace_back(key, estimate_json(estimate));
}

void append_known(JsonObject& members, const char* key, BytesPerSecond value) {
  if (value.value() > 0) members.emplace_back(key, value.value());
}

JsonObject link_json(const Link& link) {
  JsonArray curves;
  for (const Curve& curve : link.curves) curves.emplace_back(curve_json(curve));
  JsonObject members;
  members.emplace_back("name", link.name);
  members.emplace_back("title", link.title);
  members.emplace_back("topology", name(link.topology));
  if (link.topology_assumed) members.emplace_back("topology_assumed", true);
  append_known(members, "latency_s", link.latency);
  append_known(members, "large_latency_s", link.large_latency);
  append_known(members, "bandwidth_bytes_per_s", link.bandwidth);
  append_known(members, "bandwidth_low_bytes_per_s", link.bandwidth_low);
  append_known(members, "bandwidth_high_bytes_per_s", link.bandwidth_high);
  append_known(members, "peak_bytes_per_s", link.peak);
  if (link.per_gpu) members.emplace_back("per_gpu", true);
  if (link.most_ranks) members.emplace_back("most_ranks", *link.most_ranks);
  if (link.channels > 0) members.emplace_back("channels", link.channels);
  const Estimate<double>& beside = link.beside_compute;
  if (beside.value != 1.0 || beside.relative_error != 0 || !beside.origin.empty()) {
    members.emplace_back("beside_compute", estimate_json(beside));
  }
  if (link.beside_memory.value > 0)
    members.emplace_back("beside_memory", estimate_json(link.beside_memory));
  if (link.beside_flops.value > 0)
    members.emplace_back("beside_flops", estimate_json(link.beside_flops));
  if (link.beside_copies) {
    JsonObject copies;
    copies.emplace_back("collective", estimate_json(link.beside_copies->collective));
    copies.emplace_back("copy", estimate_json(link.beside_copies->copy));
    copies.emplace_back("rate_bytes_per_s", link.beside_copies->rate.value());
    members.emplace_back("beside_copies", std::move(copies));
  }
  if (link.shared_core) members.emplace_back("shared_core", shared_core_json(*link.shared_core));
  append_known(members, "burst_s", link.burst);
  members.emplace_back("curves", std::move(curves));
  members.emplace_back("source", link.source);
  return members;
}

}  // namespace

SharedCore shared_core_of(const Reader& from) {
  from.only({"seconds_per_byte", "delay_s"});
  return {estimate_of<double>(from.at("seconds_per_byte"), kSecondsPerByte),
          estimate_of<Seconds>(from.at("delay_s"), kFittedLatency)};
}

JsonObject shared_core_json(const SharedCore& core) {
  JsonObject members;
  members.emplace_back("seconds_per_byte", estimate_json(core.seconds_per_byte));
  members.emplace_back("delay_s", estimate_json(core.delay));
  return members;
}

std::vector<Link> links_of(const Reader& from) {
  std::vector<Link> links;
  std::set<std::string> names;
  for (const Reader& element : from.elements()) {
    element.only(kLinkMembers);
    links.push_back(link_of(element));
    if (!names.insert(links.back().name).second) {
      element.at("name").refuse_value("a name that no earlier link of this file has");
    }
  }
  return links;
}

JsonArray links_json(std::span<const Link> links) {
  JsonArray array;
  for (const Link& link : links) array.emplace_back(link_json(link));
  return array;
}

std::vector<Link> links_from_json(std::string_view text, std::string_view place) {
  if (schema_of(text, place) == kLinkSchema) {
    const Document document = open_document(text, place, kLinkSchema);
    (void)context_of(document, kLinkMembers);
    return {link_of(Reader(document))};
  }
  const Document document = open_document(text, place, kLinksSchema);
  (void)context_of(document, {"links"});
  const Reader links = Reader(document).at("links");
  (void)links.filled();
  return links_of(links);
}

std::string to_json(std::span<const Link> links, const Context& context) {
  JsonObject members = opening(kLinksSchema, context);
  members.emplace_back("links", links_json(links));
  return print(std::move(members));
}

}  // namespace ddpx::io
