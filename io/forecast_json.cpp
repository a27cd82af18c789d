#include "io/forecast_json.hpp"

#include <cmath>

#include "io/forecast_json_decisions.hpp"
#include "io/forecast_json_plans.hpp"
#include "io/forecast_parts_json.hpp"
#include "io/job_json.hpp"
#include "io/json_records.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

JsonValue amdahl_json(const std::optional<Amdahl>& amdahl) {
  if (!amdahl) return {};
  const double ceiling = amdahl->ceiling();
  JsonObject members;
  members.emplace_back("parallel_fraction", amdahl->parallel_fraction);
  members.emplace_back("ceiling", std::isfinite(ceiling) ? JsonValue(ceiling) : JsonValue());
  return members;
}

JsonValue learned_width_json(const std::optional<LearnedWidth>& width) {
  if (!width) return {};
  return JsonObject{{"factor", std::exp(width->logarithm)},
                    {"coverage_leaving_networks_out", optional_json(width->coverage)}};
}

JsonValue learned_json(const std::optional<LearnedErrors>& learned) {
  if (!learned) return {};
  JsonObject members;
  members.emplace_back("steps", learned->steps);
  members.emplace_back("networks", learned->networks);
  members.emplace_back("longer_than_forecast", learned->longer);
  members.emplace_back("regime", name(learned->kind.regime));
  members.emplace_back("step", learned_width_json(learned->step));
  members.emplace_back("speedup", learned_width_json(learned->speedup));
  return members;
}

JsonObject collective_json(const CollectiveRow& row) {
  JsonObject members;
  members.emplace_back("collective", name(row.kind));
  members.emplace_back("tensors", row.tensors);
  members.emplace_back("gradient_bytes", row.gradient.value());
  members.emplace_back("message_bytes", row.message.value());
  members.emplace_back("ranks", row.ranks);
  members.emplace_back("per_step", row.per_step);
  members.emplace_back("time_s", row.time.value());
  members.emplace_back("bus_bandwidth_bytes_per_s", row.bus_bandwidth.value());
  members.emplace_back("peak_bus_bandwidth_bytes_per_s", row.peak_bus_bandwidth.value());
  return members;
}

JsonObject explanation_json(const Explanation& explanation) {
  JsonArray collectives;
  for (const CollectiveRow& row : explanation.collectives) {
    collectives.emplace_back(collective_json(row));
  }
  JsonObject members;
  members.emplace_back("peak_bus_bandwidth_bytes_per_s", explanation.peak_bus_bandwidth.value());
  members.emplace_back("sent_per_rank_bytes", explanation.sent_per_rank.value());
  members.emplace_back("collectives", std::move(collectives));
  JsonObject worth;
  for (const Elasticity& e : explanation.elasticities) worth.emplace_back(e.constant, e.per_cent);
  members.emplace_back("per_cent_of_step_for_1_per_cent", std::move(worth));
  JsonValue least_sure;
  if (const auto& unmeasured = explanation.least_sure) {
    JsonObject of;
    append_product(of, unmeasured->product);
    of.emplace_back("half_width", unmeasured->half_width);
    of.emplace_back("command", unmeasured->command);
    least_sure = std::move(of);
  }
  members.emplace_back("least_sure", std::move(least_sure));
  return members;
}

// A batch that so many ranks share, as each of them has it.
JsonValue by_rank(const std::optional<double>& batch, int ranks) {
  return batch ? JsonValue(*batch / ranks) : JsonValue();
}

JsonObject row_json(const ForecastRow& row) {
  JsonObject members;
  members.emplace_back("network", row.network);
  members.emplace_back("parameters", row.parameters);
  members.emplace_back("width", optional_json(row.width));
  append_job(members, row.job, row.link, row.job.samples_per_micro_batch());
  members.emplace_back("nodes", row.nodes);
  members.emplace_back("machine", row.machine);
  members.emplace_back("engine", name(row.job.engine));
  append_forecast(members, row.forecast);
  members.emplace_back("extrapolated", array_json(row.extrapolated));
  members.emplace_back("rests_on", array_json(row.rests_on));
  members.emplace_back("learned", learned_json(row.forecast.learned));
  members.emplace_back("break_even_batch_per_rank",
                       by_rank(row.break_even_batch_per_rank, row.job.ranks_sharing_batch()));
  members.emplace_back("amdahl", amdahl_json(row.amdahl));
  members.emplace_back("conditions", conditions_json(row));
  if (row.plan) members.emplace_back("plan", plan_json(*row.plan));
  if (row.explanation) members.emplace_back("explanation", explanation_json(*row.explanation));
  return members;
}

// What a value on the sweep's axis is divided by: batches are of one rank.
double axis_unit(const CrossoverRow& row) {
  return row.axis == SweepAxis::batch_per_rank ? row.ranks_sharing_batch : 1;
}

JsonObject crossing_json(const CrossoverRow& row, Crossing crossing) {
  for (double* x : {&crossing.x.value, &crossing.x.low, &crossing.x.high, &crossing.bracket_low,
                    &crossing.bracket_high})
    *x /= axis_unit(row);
  JsonObject members;
  append_crossing(members, crossing, name(row.axis));
  return members;
}

// What a sweep was made over; a crossing repeats it, so that each can be read alone.
JsonObject sweep_members(const CrossoverRow& row) {
  JsonObject members;
  members.emplace_back("network", row.network);
  members.emplace_back("gpus", row.gpus);
  members.emplace_back("link", row.link);
  members.emplace_back("strategy", row.strategy);
  if (row.batch_per_rank)
    members.emplace_back("batch_per_rank", *row.batch_per_rank / row.ranks_sharing_batch);
  return members;
}

JsonObject sweep_json(const CrossoverRow& row) {
  JsonObject members = sweep_members(row);
  members.emplace_back("axis", name(row.axis));
  members.emplace_back("low", row.sweep_low / axis_unit(row));
  members.emplace_back("high", row.sweep_high / axis_unit(row));
  members.emplace_back("lowest_speedup", interval_json(row.lowest_speedup));
  members.emplace_back("highest_speedup", interval_json(row.highest_speedup));
  members.emplace_back("crossovers", row.crossings.size());
  if (row.lowest_target_speedup) {
    JsonArray target;
    for (const Crossing& crossing : row.target_crossings)
      target.emplace_back(crossing_json(row, crossing));
    members.emplace_back("lowest_target_speedup", interval_json(*row.lowest_target_speedup));
    members.emplace_back("highest_target_speedup", interval_json(*row.highest_target_speedup));
    members.emplace_back("target_crossovers", std::move(target));
  }
  members.emplace_back("break_even_batch_per_rank",
                       by_rank(row.break_even_batch_per_rank, row.ranks_sharing_batch));
  return members;
}

JsonObject crossover_json(const CrossoverRow& row, const Crossing& crossing) {
  JsonObject members = sweep_members(row);
  for (auto& member : crossing_json(row, crossing)) members.push_back(std::move(member));
  members.emplace_back("break_even_batch_per_rank",
                       by_rank(row.break_even_batch_per_rank, row.ranks_sharing_batch));
  return members;
}

JsonObject inferred_json(const InferredLink& link) {
  JsonObject members;
  members.emplace_back("parameters", link.parameters);
  append_job(members, link.job, "inferred", link.job.samples_per_micro_batch());
  for (auto& [key, value] : members) {
    if (key == "batch_per_rank" && !link.batch_given) value = optional_json(std::nullopt);
  }
  members.emplace_back("one_gpu_step_time_s", link.one_gpu_step.value());
  members.emplace_back("step_time_s", link.step.value());
  members.emplace_back("speedup", link.speedup);
  const auto figure = [&](const char* key, double value) {
    members.emplace_back(key, optional_json(link.explained ? std::optional(value) : std::nullopt));
  };
  figure("bus_bandwidth_bytes_per_s", link.bus_bandwidth.value());
  figure("assumed_latency_s", link.latency.value());
  std::optional<double> below;
  std::optional<double> above;
  if (link.jump) {
    below = link.jump->below.value();
    above = link.jump->above.value();
  }
  members.emplace_back("step_time_just_below_s", optional_json(below));
  members.emplace_back("step_time_just_above_s", optional_json(above));
  figure("framework_s", link.framework.value());
  figure("slowest_rank_s", link.slowest_rank.value());
  std::optional<double> alone;
  if (link.link_alone) alone = link.link_alone->value();
  members.emplace_back("bus_bandwidth_of_the_link_alone_bytes_per_s", optional_json(alone));
  members.emplace_back("reading", link.reading);
  return members;
}

}  // namespace

std::string to_json(const ForecastDocument& document, const Context& context) {
  JsonArray sweeps;
  JsonArray crossovers;
  for (const CrossoverRow& row : document.crossovers) {
    sweeps.emplace_back(sweep_json(row));
    for (const Crossing& crossing : row.crossings) {
      crossovers.emplace_back(crossover_json(row, crossing));
    }
  }
  JsonObject members = opening(kForecastSchema, context);
  const bool machine = !document.machine.empty();
  members.emplace_back("machine", machine ? JsonValue(document.machine) : JsonValue());
  members.emplace_back("device", machine ? JsonValue(document.device) : JsonValue());
  members.emplace_back("rows", JsonArray());  // below
  members.emplace_back("crossovers", std::move(crossovers));
  members.emplace_back("sweeps", std::move(sweeps));
  if (document.decision) members.emplace_back("decision", decision_json(*document.decision));
  if (document.diagnosed) members.emplace_back("diagnosis", diagnosis_json(*document.diagnosed));
  if (document.inferred) members.emplace_back("inferred", inferred_json(*document.inferred));
  append_decisions(members, document);
  members.emplace_back("warnings", array_json(document.warnings));
  return print_with_records(members, "rows", document.rows.size(),
                            [&](std::size_t i) { return row_json(document.rows[i]); });
}

}  // namespace ddpx::io
