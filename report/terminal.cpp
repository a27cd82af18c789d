#include "report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/escape.hpp"
#include "report/validation_words.hpp"
#include "report/words.hpp"
#include "text/page.hpp"
#include "text/table.hpp"
#include "validation/summary.hpp"

namespace ddpx::report {
namespace {

constexpr std::size_t kNameWidth = 28;
constexpr std::size_t kWorstRows = 5;
constexpr std::size_t kFewRows = 8;  // all of which are shown

// Two of them stand one below the other: what they share has the same width in both.
TextTable summary_table(const char* of) {
  return TextTable({{of, true, kNameWidth},
                    {"rows", false, 4},
                    {"median", false, 6},
                    {"95th", false, 7},
                    {"largest", false, 7},
                    {"in 90%", false, 6},
                    {"verdicts", false, 10}});
}

// `coverage` apart, because a baseline's points have no interval that could hold anything.
void add_summary(TextTable& table, std::string_view group, const ErrorSummary& s,
                 const std::string& coverage) {
  table.add({terminal_text(group), std::to_string(s.rows),
             terminal_text(percent(s.median_abs_error)), terminal_text(percent(s.p95_abs_error)),
             terminal_text(percent(s.max_abs_error)), coverage,
             s.verdicts_judged == 0 ? "-" : verdicts(s)});
}

void add_summary(TextTable& table, std::string_view group, const ErrorSummary& s) {
  add_summary(table, group, s, terminal_text(percent(s.interval_coverage)));
}

std::string summary_lines(const Comparison& comparison) {
  TextTable table = summary_table("error of the step");
  add_summary(table, "all", comparison.summary);
  for (const ConformalGroup& group : comparison.by_link_and_regime)
    add_summary(table, group.link + ", " + words(group.regime), group.summary);
  for (const GroupSummary& group : comparison.by_family)
    add_summary(table, "family " + group.group, group.summary);
  return table.text();
}

std::string baseline_lines(const Comparison& comparison) {
  TextTable table = summary_table("Baselines on the same rows");
  for (const BaselineSummary& baseline : comparison.baselines)
    add_summary(table, fmt::format("{} {}", name(baseline.baseline), title(baseline.baseline)),
                baseline.summary, "");
  return table.text();
}

std::string speedup_text(const Interval& s) {
  return fmt::format("{} ({}-{})", number_text(s.value), number_text(s.low), number_text(s.high));
}

// Forecast beside measurement, row by row: a line of figures below each name, or a sentence where
// the page is too narrow for it.
std::string all_rows(const Comparison& comparison) {
  constexpr auto kLine = "{:>14}{:>11}{:>26}{:>11}{:>11}";
  const std::string heads = fmt::format(fmt::runtime(kLine), "step forecast", "measured",
                                        "speedup forecast (90 %)", "measured", "error");
  const bool narrow = heads.size() > columns();
  std::string text = narrow ? "\n" : "\n" + heads + "\n";
  for (const ComparedRow& row : comparison.rows) {
    const std::string step = seconds_text(row.forecast.step_time_s.value);
    const std::string measured = seconds_text(row.measured.value);
    const std::string speedup = speedup_text(row.forecast.speedup);
    const std::string measured_speedup =
        row.measured_speedup ? number_text(*row.measured_speedup) : "-";
    const std::string error = signed_percent(row.error);
    text += wrapped(terminal_text(row_name(row)), {.rest = 2});
    text += narrow ? wrapped(terminal_text(fmt::format(
                                 "step {} forecast, {} measured ({}); speedup {} forecast, {} "
                                 "measured",
                                 step, measured, error, speedup, measured_speedup)),
                             {.first = 4, .rest = 4})
                   : terminal_text(fmt::format(fmt::runtime(kLine), step, measured, speedup,
                                               measured_speedup, error)) +
                         "\n";
  }
  return text;
}

std::string largest_errors_text(const Comparison& comparison) {
  std::string text = "\nLargest errors\n";
  std::size_t shown = 0;
  for (const ComparedRow* row : worst_first(comparison.rows)) {
    if (shown++ == kWorstRows) break;
    text += labelled(
        terminal_text(fmt::format("{:>8}  ", signed_percent(row->error))),
        terminal_text(fmt::format("{} for {}: {}", seconds_text(row->forecast.step_time_s.value),
                                  seconds_text(row->measured.value), row_name(*row))));
  }
  return text;
}

}  // namespace

std::string validation_text(const ValidationFacts& facts) {
  std::string text = wrapped(terminal_text(headline(facts)));
  for (const std::string& finding : findings(facts.comparison))
    text += wrapped(terminal_text(finding));
  text += "\n" + summary_lines(facts.comparison);
  if (shares_work(facts.comparison)) text += "\n" + baseline_lines(facts.comparison);
  text += facts.comparison.rows.size() <= kFewRows ? all_rows(facts.comparison)
                                                   : largest_errors_text(facts.comparison);
  return text;
}

}  // namespace ddpx::report
