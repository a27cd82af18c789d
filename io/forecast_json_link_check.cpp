#include "io/forecast_json_link_check.hpp"

#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

JsonObject candidate_json(const LinkBand& candidate) {
  JsonObject members;
  members.emplace_back("link", candidate.name);
  members.emplace_back("low_bytes_per_s", candidate.band.low.value());
  members.emplace_back("usual_bytes_per_s", candidate.band.usual.value());
  members.emplace_back("high_bytes_per_s", candidate.band.high.value());
  members.emplace_back("limit", candidate.limit);
  return members;
}

JsonArray candidates_json(const std::vector<LinkBand>& candidates) {
  JsonArray array;
  for (const LinkBand& candidate : candidates) array.emplace_back(candidate_json(candidate));
  return array;
}

JsonValue optional_candidate(const std::optional<LinkBand>& candidate) {
  return candidate ? JsonValue(candidate_json(*candidate)) : JsonValue();
}

JsonObject measured_json(const MeasuredLink& measured) {
  JsonObject members;
  members.emplace_back("what", measured.what);
  members.emplace_back("ranks", measured.ranks);
  members.emplace_back("bus_bandwidth_bytes_per_s", measured.bus_bandwidth.value());
  members.emplace_back("bytes", measured.copies ? JsonValue() : JsonValue(measured.bytes.value()));
  members.emplace_back("falls_with_size", measured.falls);
  members.emplace_back("latency_share",
                       measured.copies ? JsonValue() : JsonValue(measured.latency_share));
  const bool sized = measured.largest.value() > 0;
  members.emplace_back("largest_bytes", sized ? JsonValue(measured.largest.value()) : JsonValue());
  members.emplace_back("bus_bandwidth_at_largest_bytes_per_s",
                       sized ? JsonValue(measured.at_largest.value()) : JsonValue());
  members.emplace_back("corrupts_data", !measured.corrupts.empty());
  members.emplace_back("pairs_that_move_nothing",
                       measured.dead.empty() ? JsonValue() : JsonValue(measured.dead));
  members.emplace_back("pairs_are_missing", measured.incomplete);
  members.emplace_back("hosts", measured.hosts > 0 ? JsonValue(measured.hosts) : JsonValue());
  members.emplace_back("ranks_per_host", measured.ranks_per_host > 0
                                             ? JsonValue(measured.ranks_per_host)
                                             : JsonValue());
  members.emplace_back("assumptions", array_json(measured.assumptions));
  members.emplace_back("notes", array_json(measured.notes));
  return members;
}

JsonObject paths_json(const Paths& paths) {
  JsonObject members;
  members.emplace_back("gpus", paths.gpus);
  members.emplace_back("nics", paths.nics);
  members.emplace_back("slowest", paths.slowest);
  return members;
}

std::string_view verdict_of(const LinkCheck& check) {
  if (!check.expected) return "";
  if (check.standing == Standing::below) return "below";
  return check.standing == Standing::above ? "above" : "within";
}

}  // namespace

std::string to_json(const LinkCheck& check, const Context& context) {
  JsonObject members = opening(kLinkCheckSchema, context);
  members.emplace_back("measured",
                       check.measured ? JsonValue(measured_json(*check.measured)) : JsonValue());
  members.emplace_back("paths", check.paths ? JsonValue(paths_json(*check.paths)) : JsonValue());
  members.emplace_back("expected", optional_candidate(check.expected));
  members.emplace_back("verdict", check.expected ? JsonValue(verdict_of(check)) : JsonValue());
  members.emplace_back("reduced_in_switch", check.in_switch);
  members.emplace_back("looks_like", optional_candidate(check.looks_like));
  members.emplace_back("also_looks_like", candidates_json(check.also_like));
  members.emplace_back("likely_faults", array_json(check.faults));
  members.emplace_back("candidates", candidates_json(check.candidates));
  members.emplace_back("warnings", array_json(check.warnings));
  return print(std::move(members));
}

}  // namespace ddpx::io
