#include "io/forecast_json_decisions.hpp"

#include "io/forecast_parts_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

JsonObject situation_json(const Situation& of) {
  JsonObject members;
  members.emplace_back("network", of.network);
  members.emplace_back("parameters", of.parameters);
  members.emplace_back("width", optional_json(of.width));
  members.emplace_back("batch_per_rank", of.job.samples_per_micro_batch());
  members.emplace_back("gpus", of.job.gpus);
  members.emplace_back("nodes", of.nodes);
  members.emplace_back("scaling", of.job.scaling == Scaling::strong ? "strong" : "weak");
  members.emplace_back("dtype", name(of.job.dtype));
  members.emplace_back("optimizer", name(of.job.optimizer));
  return members;
}

JsonObject strategy_json(const RankingRow& ranking, const RankedStrategy& row, std::size_t place) {
  JsonObject members = situation_json(ranking.of);
  members.emplace_back("link", row.link);
  members.emplace_back("strategy", describe(row.strategy));
  members.emplace_back("rank", place);
  members.emplace_back("step_time_s", interval_json(row.step_time_s));
  members.emplace_back("samples_per_s", interval_json(row.samples_per_s));
  members.emplace_back("gain", interval_json(row.gain));
  members.emplace_back("gain_verdict", name(row.verdict));
  members.emplace_back("memory_per_gpu_bytes", row.memory.total().value());
  members.emplace_back("gpu_memory_bytes", ranking.memory.value() > 0
                                               ? JsonValue(ranking.memory.value())
                                               : JsonValue());
  members.emplace_back("fits", row.fits ? JsonValue(*row.fits) : JsonValue());
  members.emplace_back("effective_batch", row.effective_batch);
  members.emplace_back("on_front", row.on_front);
  members.emplace_back("validated", row.validated);
  return members;
}

// A batch is that of one rank, whoever shares the one that --batch takes.
JsonObject unknown_json(const UnknownRow& row, const Job& job) {
  const bool batch = row.unknown == Unknown::batch_per_rank;
  const double unit = batch ? job.ranks_sharing_batch() : 1;
  const auto shown = [&](const std::optional<double>& value) {
    return value ? JsonValue(*value / unit) : JsonValue();
  };
  const Solution& solution = row.solution;
  constexpr std::string_view kOutcomes[] = {"boundary", "always", "never"};
  const bool boundary = solution.outcome == Outcome::boundary;
  JsonObject members;
  members.emplace_back("unknown", name(row.unknown));
  members.emplace_back("what", batch ? "batch per rank" : row.what);
  members.emplace_back("now", row.now / unit);
  members.emplace_back("outcome", kOutcomes[static_cast<std::size_t>(solution.outcome)]);
  members.emplace_back(
      "relation", boundary ? JsonValue(solution.at_least ? "at_least" : "at_most") : JsonValue());
  members.emplace_back("value", solution.value / unit);
  const bool link = row.unknown == Unknown::link_bandwidth || row.unknown == Unknown::link_latency;
  members.emplace_back("ratio",
                       boundary && link ? JsonValue(solution.value / row.now) : JsonValue());
  members.emplace_back("reached", solution.reached);
  members.emplace_back("beyond", boundary ? JsonValue(solution.beyond) : JsonValue());
  JsonArray ranges;
  for (const MetRange& range : solution.ranges) {
    JsonObject ends;
    ends.emplace_back("from", shown(range.from));
    ends.emplace_back("to", shown(range.to));
    ranges.emplace_back(std::move(ends));
  }
  members.emplace_back("ranges", std::move(ranges));
  members.emplace_back("parameters", optional_json(row.parameters));
  members.emplace_back("flags", row.flags.empty() ? JsonValue() : JsonValue(row.flags));
  members.emplace_back("flags_reached",
                       row.flags.empty() ? JsonValue() : JsonValue(row.flags_reached));
  members.emplace_back("fits", row.fits);
  return members;
}

JsonObject requirement_json(const RequirementRow& row) {
  JsonObject members = situation_json(row.of);
  members.emplace_back("link", row.of.link);
  members.emplace_back("strategy", describe(row.of.job.strategy));
  members.emplace_back("metric", name(row.requirement.metric));
  members.emplace_back("required", row.requirement.value);
  members.emplace_back("now", row.now);
  members.emplace_back("can_be_met", row.can_be_met());
  JsonArray unknowns;
  for (const UnknownRow& unknown : row.unknowns)
    unknowns.emplace_back(unknown_json(unknown, row.of.job));
  members.emplace_back("unknowns", std::move(unknowns));
  members.emplace_back("not_varied", array_json(row.left_out));
  const auto useful = [&](const auto& member) {
    return row.useful ? JsonValue(member(*row.useful)) : JsonValue();
  };
  members.emplace_back("useful_gpus",
                       useful([&](const UsefulGpus& u) { return u.most * row.gpus_step; }));
  members.emplace_back("useful_gpus_is_largest_looked_at",
                       useful([](const UsefulGpus& u) { return u.most_is_last; }));
  members.emplace_back("throughput_dips", useful([](const UsefulGpus& u) { return u.dips; }));
  members.emplace_back("half_gain_gpus",
                       useful([&](const UsefulGpus& u) { return u.half * row.gpus_step; }));
  members.emplace_back(
      "crossing", row.crossing ? JsonValue(unknown_json(*row.crossing, row.of.job)) : JsonValue());
  return members;
}

}  // namespace

void append_decisions(JsonObject& members, const ForecastDocument& document) {
  if (!document.rankings.empty()) {
    JsonArray strategies;
    std::vector<std::string> notes;
    for (const RankingRow& ranking : document.rankings) {
      std::size_t place = 0;
      for (const RankedStrategy& row : ranking.ranking.strategies)
        strategies.emplace_back(strategy_json(ranking, row, ++place));
      notes.insert(notes.end(), ranking.ranking.notes.begin(), ranking.ranking.notes.end());
    }
    members.emplace_back("strategies", std::move(strategies));
    members.emplace_back("strategy_notes", array_json(notes));
  }
  if (document.requirements.empty()) return;
  JsonArray requirements;
  for (const RequirementRow& row : document.requirements)
    requirements.emplace_back(requirement_json(row));
  members.emplace_back("requirements", std::move(requirements));
}

}  // namespace ddpx::io
