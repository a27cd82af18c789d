#include "report/validation_tables.hpp"

#include <fmt/format.h>

#include "report/validation_words.hpp"
#include "report/words.hpp"

namespace ddpx::report {
namespace {

using Align = Table::Align;
using Cells = std::vector<std::string>;

const std::vector<Table::Column> kSummaryColumns = {{"rows of", Align::text},
                                                    {"rows", Align::number},
                                                    {"median error", Align::number},
                                                    {"95th percentile", Align::number},
                                                    {"largest", Align::number},
                                                    {"signed median", Align::number},
                                                    {"in 90 % interval", Align::number},
                                                    {"half-width", Align::number},
                                                    {"verdicts right", Align::number},
                                                    {"too close", Align::number}};

Cells summary_cells(std::string group, const ErrorSummary& s) {
  return {std::move(group),
          std::to_string(s.rows),
          percent(s.median_abs_error),
          percent(s.p95_abs_error),
          percent(s.max_abs_error),
          signed_percent(s.median_error),
          percent(s.interval_coverage),
          percent(s.median_half_width),
          verdicts(s),
          std::to_string(s.too_close)};
}

void add_groups(Table& table, std::string_view before, const std::vector<GroupSummary>& groups) {
  for (const GroupSummary& group : groups) {
    table.rows.push_back(summary_cells(std::string(before) + group.group, group.summary));
  }
}

std::string regime_words(std::string_view group) {
  for (const Regime regime : {Regime::gpu_bound, Regime::host_bound}) {
    if (group == name(regime)) return words(regime);
  }
  return std::string(group);
}

std::string optional_percent(const std::optional<double>& value) {
  return value ? percent(*value) : std::string(kNothing);
}

std::string optional_number(const std::optional<double>& value) {
  return value ? number_text(*value) : std::string(kNothing);
}

}  // namespace

Table summary_table(const Comparison& comparison) {
  Table table{kSummaryColumns, {summary_cells("all", comparison.summary)}};
  for (const GroupSummary& group : comparison.by_regime) {
    table.rows.push_back(summary_cells(regime_words(group.group), group.summary));
  }
  add_groups(table, "link ", comparison.by_link);
  add_groups(table, "family ", comparison.by_family);
  add_groups(table, "", comparison.by_width);
  return table;
}

Table strategy_table(const Comparison& comparison) {
  Table table{kSummaryColumns, {}};
  add_groups(table, "", comparison.by_strategy);
  return table;
}

Table conformal_table(const Comparison& comparison) {
  Table table{{{"link", Align::text},
               {"regime", Align::text},
               {"rows", Align::number},
               {"median error", Align::number},
               {"95th percentile", Align::number},
               {"in 90 % interval", Align::number},
               {"half-width", Align::number},
               {"conformal half-width", Align::number},
               {"its coverage", Align::number}},
              {}};
  for (const ConformalGroup& group : comparison.by_link_and_regime) {
    const ErrorSummary& s = group.summary;
    table.rows.push_back({group.link, words(group.regime), std::to_string(s.rows),
                          percent(s.median_abs_error), percent(s.p95_abs_error),
                          percent(s.interval_coverage), percent(s.median_half_width),
                          optional_percent(group.half_width), optional_percent(group.coverage)});
  }
  return table;
}

Table baseline_table(const Comparison& comparison) {
  Table table{{{"baseline", Align::text},
               {"rows", Align::number},
               {"median error", Align::number},
               {"95th percentile", Align::number},
               {"signed median", Align::number},
               {"verdicts right", Align::number},
               {"forecast's median", Align::number},
               {"forecast's 95th", Align::number},
               {"forecast's verdicts", Align::number}},
              {}};
  for (const BaselineSummary& baseline : comparison.baselines) {
    const ErrorSummary& own = baseline.summary;
    const ErrorSummary& ours = baseline.forecast_on_same_rows;
    table.rows.push_back({fmt::format("{}: {}", name(baseline.baseline), title(baseline.baseline)),
                          std::to_string(own.rows), percent(own.median_abs_error),
                          percent(own.p95_abs_error), signed_percent(own.median_error),
                          verdicts(own), percent(ours.median_abs_error),
                          percent(ours.p95_abs_error), verdicts(ours)});
  }
  return table;
}

Table crossing_table(const Comparison& comparison) {
  Table table{{{"sweep", Align::text}, {"forecast", Align::text}, {"measured", Align::text}}, {}};
  for (const CrossingComparison& crossing : comparison.crossings) {
    table.rows.push_back(
        {crossing.group, crossings_text(crossing.forecast), crossings_text(crossing.measured)});
  }
  return table;
}

Table misses_table(const Comparison& comparison) {
  Table table{{{"row", Align::text},
               {"measured speedup", Align::number},
               {"forecast speedup", Align::number},
               {"forecast verdict", Align::text},
               {"error of the step", Align::number}},
              {}};
  for (const ComparedRow& row : comparison.rows) {
    if (row.verdict_right.value_or(true)) continue;
    table.rows.push_back({row_name(row), optional_number(row.measured_speedup),
                          interval_text(row.forecast.speedup), words(row.forecast.verdict),
                          signed_percent(row.error)});
  }
  return table;
}

Table rows_table(const Comparison& comparison) {
  Table table{{{"network", Align::text},
               {"parameters", Align::number},
               {"link", Align::text},
               {"GPUs", Align::number},
               {"batch", Align::number},
               {"strategy", Align::text},
               {"regime", Align::text},
               {"forecast step (90 %)", Align::number},
               {"measured step", Align::number},
               {"error", Align::number},
               {"forecast speedup (90 %)", Align::number},
               {"measured", Align::number},
               {"verdict", Align::text},
               {"which is", Align::text}},
              {}};
  for (const ComparedRow& row : comparison.rows) {
    const Job& job = row.run->job;
    table.rows.push_back(
        {row.network, count_text(row.parameters), std::string(row.run->link_name()),
         std::to_string(job.gpus), count_text(job.batch_per_rank), how(job), words(row.regime),
         seconds_interval_text(row.forecast.step_time_s), seconds_text(row.measured.value),
         signed_percent(row.error), interval_text(row.forecast.speedup),
         optional_number(row.measured_speedup), words(row.forecast.verdict), judgement(row)});
  }
  return table;
}

}  // namespace ddpx::report
