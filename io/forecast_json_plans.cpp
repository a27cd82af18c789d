#include "io/forecast_json_plans.hpp"

#include "io/forecast_parts_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

JsonValue interval_or_null(const std::optional<Interval>& interval) {
  return interval ? JsonValue(interval_json(*interval)) : JsonValue();
}

JsonValue seconds_or_null(const std::optional<Seconds>& time) {
  return time ? JsonValue(time->value()) : JsonValue();
}

JsonArray points_json(const DiagnosedRun& run) {
  JsonArray points;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    JsonObject members;
    members.emplace_back("gpus", run.points[i].gpus);
    members.emplace_back("step_time_s", run.points[i].time.value());
    members.emplace_back("throughput_of_each", optional_json(run.each[i]));
    members.emplace_back("implied_bus_bandwidth_bytes_per_s",
                         run.implied[i] ? JsonValue(run.implied[i]->value()) : JsonValue());
    points.emplace_back(std::move(members));
  }
  return points;
}

}  // namespace

JsonValue conditions_json(const ForecastRow& row) {
  if (!row.conditions) return {};
  JsonObject all;
  for (const Condition& condition : *row.conditions) {
    JsonObject members;
    members.emplace_back("known", condition.known);
    members.emplace_back("figure", condition.figure);
    members.emplace_back("lost", condition.lost);
    members.emplace_back("holds", condition.known ? JsonValue(condition.holds()) : JsonValue());
    all.emplace_back(name(condition.kind), std::move(members));
  }
  return all;
}

JsonObject plan_json(const Plan& plan) {
  JsonObject members;
  members.emplace_back("global_batch", plan.global_batch);
  members.emplace_back("fits", plan.fits);
  members.emplace_back("learning_rate_factor", plan.rate_factor);
  members.emplace_back("learning_rate", optional_json(plan.learning_rate));
  members.emplace_back("machine", plan.rent.machine.empty() ? JsonValue() : plan.rent.machine);
  members.emplace_back("price_per_hour", plan.rent.per_hour);
  members.emplace_back("cost_per_million_samples", interval_or_null(plan.cost_per_million));
  members.emplace_back("run_s", interval_or_null(plan.run_s));
  members.emplace_back("run_cost", interval_or_null(plan.run_cost));
  members.emplace_back("samples_ratio", interval_or_null(plan.samples_ratio));
  members.emplace_back("target_speedup", interval_or_null(plan.target_speedup));
  members.emplace_back("target_verdict",
                       plan.target_verdict ? JsonValue(name(*plan.target_verdict)) : JsonValue());
  members.emplace_back("target_samples", interval_or_null(plan.target_samples));
  members.emplace_back("target_steps", interval_or_null(plan.target_steps));
  members.emplace_back("target_s", interval_or_null(plan.target_s));
  members.emplace_back("target_cost", interval_or_null(plan.target_cost));
  return members;
}

JsonObject decision_json(const Decision& decision) {
  const PlanQuestion& question = decision.question;
  JsonObject members;
  members.emplace_back("samples", optional_json(question.samples));
  members.emplace_back("one_gpu_batch", optional_json(question.one_gpu_batch));
  JsonValue critical;
  if (question.critical) {
    JsonObject batch;
    batch.emplace_back("value", question.critical->middle());
    batch.emplace_back("low", question.critical->low);
    batch.emplace_back("high", question.critical->high);
    batch.emplace_back("assumed", question.critical->assumed);
    critical = std::move(batch);
  }
  members.emplace_back("critical_batch", std::move(critical));
  members.emplace_back("rate_rule", name(question.rule));
  members.emplace_back("currency",
                       question.prices ? JsonValue(question.prices->currency) : JsonValue());
  members.emplace_back("deadline_s", seconds_or_null(question.deadline));
  members.emplace_back("row", decision.row ? JsonValue(*decision.row) : JsonValue());
  members.emplace_back("certain", decision.row ? JsonValue(decision.certain) : JsonValue());
  return members;
}

JsonObject diagnosis_json(const DiagnosedRun& run) {
  JsonArray findings;
  for (const Finding& finding : run.diagnosis.findings) {
    JsonObject members;
    members.emplace_back("cause", name(finding.cause));
    members.emplace_back("explains_s", finding.explains.value());
    members.emplace_back("rank", finding.rank ? JsonValue(*finding.rank) : JsonValue());
    findings.emplace_back(std::move(members));
  }
  JsonArray flags;
  for (const PointFlag& flag : run.flags) {
    JsonObject members;
    members.emplace_back("gpus", flag.gpus);
    members.emplace_back("fault", name(flag.fault));
    members.emplace_back("ratio", flag.ratio);
    members.emplace_back("against_gpus", flag.against);
    flags.emplace_back(std::move(members));
  }
  JsonObject members;
  members.emplace_back("verdict", name(run.diagnosis.verdict));
  members.emplace_back("text", run.verdict);
  members.emplace_back("next", run.next);
  members.emplace_back("gpus", run.judged.gpus);
  members.emplace_back("step_time_s", run.judged.time.value());
  members.emplace_back("excess_s", seconds_or_null(run.diagnosis.excess));
  members.emplace_back("not_communication", run.diagnosis.not_communication);
  members.emplace_back("findings", std::move(findings));
  members.emplace_back("points", points_json(run));
  members.emplace_back("assumed_latency_s", seconds_or_null(run.assumed_latency));
  members.emplace_back("suspect_points", std::move(flags));
  members.emplace_back("notes", array_json(run.notes));
  return members;
}

}  // namespace ddpx::io
