#include "io/validation_json.hpp"

#include <span>

#include "io/forecast_parts_json.hpp"
#include "io/operation_json.hpp"
#include "io/validation_row_json.hpp"

namespace ddpx::io {
namespace {

// Errors of no rows are null, not 0: nothing was right.
void append_summary(JsonObject& members, const ErrorSummary& summary) {
  const auto of_rows = [&](double value) {
    return summary.rows > 0 ? JsonValue(value) : JsonValue();
  };
  members.emplace_back("rows", summary.rows);
  members.emplace_back("median_abs_error", of_rows(summary.median_abs_error));
  members.emplace_back("p95_abs_error", of_rows(summary.p95_abs_error));
  members.emplace_back("max_abs_error", of_rows(summary.max_abs_error));
  members.emplace_back("median_error", of_rows(summary.median_error));
  members.emplace_back("interval_coverage", of_rows(summary.interval_coverage));
  members.emplace_back("median_half_width", of_rows(summary.median_half_width));
  members.emplace_back("verdicts_judged", summary.verdicts_judged);
  members.emplace_back("verdicts_right", summary.verdicts_right);
  members.emplace_back("verdicts_too_close", summary.too_close);
}

JsonObject summary_json(const ErrorSummary& summary) {
  JsonObject members;
  append_summary(members, summary);
  return members;
}

JsonObject groups_json(std::span<const GroupSummary> groups) {
  JsonObject members;
  for (const GroupSummary& group : groups) {
    members.emplace_back(group.group, summary_json(group.summary));
  }
  return members;
}

JsonArray conformal_json(std::span<const ConformalGroup> groups) {
  JsonArray array;
  for (const ConformalGroup& group : groups) {
    JsonObject members;
    members.emplace_back("link", group.link);
    members.emplace_back("regime", name(group.regime));
    append_summary(members, group.summary);
    members.emplace_back("conformal_half_width", optional_json(group.half_width));
    members.emplace_back("conformal_coverage", optional_json(group.coverage));
    array.emplace_back(std::move(members));
  }
  return array;
}

// A baseline has no interval: its coverage and width are null.
JsonArray baselines_json(std::span<const BaselineSummary> baselines) {
  JsonArray array;
  for (const BaselineSummary& baseline : baselines) {
    JsonObject members;
    members.emplace_back("name", name(baseline.baseline));
    members.emplace_back("title", title(baseline.baseline));
    append_summary(members, baseline.summary);
    for (auto& [key, value] : members) {
      if (key == "interval_coverage" || key == "median_half_width") value = JsonValue();
    }
    members.emplace_back("forecast_on_same_rows", summary_json(baseline.forecast_on_same_rows));
    array.emplace_back(std::move(members));
  }
  return array;
}

JsonArray crossings_json(std::span<const Crossing> crossings) {
  JsonArray array;
  for (const Crossing& crossing : crossings) {
    JsonObject members;
    append_crossing(members, crossing, "parameters");
    array.emplace_back(std::move(members));
  }
  return array;
}

JsonArray points_json(std::span<const SweepPoint> points, const char* key) {
  JsonArray array;
  for (const SweepPoint& point : points) {
    JsonObject members;
    members.emplace_back("parameters", point.x);
    members.emplace_back(key, interval_json(point.speedup));
    array.emplace_back(std::move(members));
  }
  return array;
}

JsonArray sweeps_json(std::span<const SweepComparison> sweeps) {
  JsonArray array;
  for (const SweepComparison& sweep : sweeps) {
    JsonObject members;
    members.emplace_back("group", sweep.group);
    members.emplace_back("family", sweep.family);
    members.emplace_back("forecast", points_json(sweep.forecast, "speedup"));
    members.emplace_back("measured", points_json(sweep.measured, "speedup"));
    members.emplace_back("forecast_communication",
                         points_json(sweep.forecast_communication, "communication_share"));
    members.emplace_back("measured_communication",
                         points_json(sweep.measured_communication, "communication_share"));
    array.emplace_back(std::move(members));
  }
  return array;
}

JsonArray comparisons_json(std::span<const CrossingComparison> comparisons) {
  JsonArray array;
  for (const CrossingComparison& comparison : comparisons) {
    JsonObject members;
    members.emplace_back("group", comparison.group);
    members.emplace_back("forecast", crossings_json(comparison.forecast));
    members.emplace_back("measured", crossings_json(comparison.measured));
    array.emplace_back(std::move(members));
  }
  return array;
}

}  // namespace

std::string to_json(const ValidationDocument& document, const Context& context) {
  const Comparison& c = document.comparison;
  JsonArray rows;
  for (const ComparedRow& row : c.rows) {
    rows.emplace_back(compared_row_json(row, document.machine));
  }
  JsonObject members = opening(kValidationSchema, context);
  members.emplace_back("machine", document.machine);
  members.emplace_back("measured", array_json(document.measured));
  members.emplace_back("summary", summary_json(c.summary));
  members.emplace_back("by_regime", groups_json(c.by_regime));
  members.emplace_back("by_link", groups_json(c.by_link));
  members.emplace_back("by_family", groups_json(c.by_family));
  members.emplace_back("by_strategy", groups_json(c.by_strategy));
  members.emplace_back("by_width", groups_json(c.by_width));
  members.emplace_back("by_link_and_regime", conformal_json(c.by_link_and_regime));
  members.emplace_back("baselines", baselines_json(c.baselines));
  members.emplace_back("crossings", comparisons_json(c.crossings));
  members.emplace_back("sweeps", sweeps_json(c.sweeps));
  members.emplace_back("rows", std::move(rows));
  members.emplace_back("warnings", array_json(document.warnings));
  return print(std::move(members));
}

}  // namespace ddpx::io
