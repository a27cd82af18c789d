#include "io/validation_row_json.hpp"

#include "io/forecast_parts_json.hpp"
#include "io/job_json.hpp"

namespace ddpx::io {
namespace {

JsonObject baseline_errors_json(const ComparedRow& row) {
  JsonObject members;
  for (std::size_t i = 0; i < row.baseline_error.size(); ++i) {
    members.emplace_back(name(static_cast<Baseline>(i)), optional_json(row.baseline_error.at(i)));
  }
  return members;
}

JsonValue error_parts_json(const std::optional<ErrorParts>& parts) {
  if (!parts) return {};
  return JsonObject{{"communication", parts->communication}, {"rest", parts->rest}};
}

}  // namespace

JsonObject compared_row_json(const ComparedRow& row, std::string_view machine) {
  JsonObject members;
  members.emplace_back("network", row.network);
  members.emplace_back("parameters", row.parameters);
  members.emplace_back("width", row.width > 0 ? JsonValue(row.width) : JsonValue());
  append_job(members, row.run->job, row.run->link_name(), row.run->job.samples_per_micro_batch());
  members.emplace_back("machine", machine);
  members.emplace_back("engine", name(row.run->job.engine));
  members.emplace_back("regime", name(row.regime));
  members.emplace_back("family", row.family);
  append_forecast(members, row.forecast);
  members.emplace_back("extrapolated", row.forecast.extrapolated);
  members.emplace_back("rests_on", row.rests_on);
  members.emplace_back("measured_step_time_s", interval_json(row.measured));
  members.emplace_back("error", row.error);
  members.emplace_back("measured_speedup", optional_json(row.measured_speedup));
  members.emplace_back("verdict_right",
                       row.verdict_right ? JsonValue(*row.verdict_right) : JsonValue());
  members.emplace_back("measured_communication_share",
                       optional_json(row.run->measured_communication_share));
  members.emplace_back("error_parts", error_parts_json(row.error_parts));
  members.emplace_back("dominant_term", name(row.dominant_term));
  members.emplace_back("dominant_share", row.dominant_share);
  members.emplace_back("least_certain",
                       row.least_certain ? JsonValue(name(*row.least_certain)) : JsonValue());
  members.emplace_back("baseline_errors", baseline_errors_json(row));
  if (!row.run->note.empty()) members.emplace_back("note", row.run->note);
  return members;
}

}  // namespace ddpx::io
