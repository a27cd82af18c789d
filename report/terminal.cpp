#include "report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/escape.hpp"
#include "report/validation_words.hpp"
#include "report/words.hpp"
#include "validation/summary.hpp"

namespace ddpx::report {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kNameColumn = 29;
constexpr std::size_t kWorstRows = 5;
constexpr std::size_t kFewRows = 8;  // all of which are shown

std::string cut(std::string_view text, std::size_t most) {
  const std::string plain = terminal_text(text);
  return plain.size() <= most ? plain : plain.substr(0, most - 2) + "..";
}

// `coverage` apart, because a baseline's points have no interval that could hold anything.
std::string summary_line(std::string_view group, const ErrorSummary& s, std::string_view coverage) {
  const std::string judged = s.verdicts_judged == 0 ? "-" : verdicts(s);
  return fmt::format("{:<{}}{:>5}{:>9}{:>9}{:>9}{:>8}{:>11}\n", cut(group, kNameColumn - 1),
                     kNameColumn, s.rows, terminal_text(percent(s.median_abs_error)),
                     terminal_text(percent(s.p95_abs_error)),
                     terminal_text(percent(s.max_abs_error)), coverage, judged);
}

std::string summary_line(std::string_view group, const ErrorSummary& s) {
  return summary_line(group, s, terminal_text(percent(s.interval_coverage)));
}

std::string summary_lines(const Comparison& comparison) {
  std::string text =
      fmt::format("{:<{}}{:>5}{:>9}{:>9}{:>9}{:>8}{:>11}\n", "error of the step", kNameColumn,
                  "rows", "median", "95th", "largest", "in 90%", "verdicts");
  text += summary_line("all", comparison.summary);
  for (const ConformalGroup& group : comparison.by_link_and_regime) {
    text += summary_line(group.link + ", " + words(group.regime), group.summary);
  }
  for (const GroupSummary& group : comparison.by_family)
    text += summary_line("family " + group.group, group.summary);
  return text;
}

std::string baseline_lines(const Comparison& comparison) {
  std::string text;
  for (const BaselineSummary& baseline : comparison.baselines) {
    text += summary_line(fmt::format("{} {}", name(baseline.baseline), title(baseline.baseline)),
                         baseline.summary, "");
  }
  return text;
}

// Forecast beside measurement, row by row.
std::string all_rows(const Comparison& comparison) {
  constexpr auto kLine = "{:>14}{:>11}{:>26}{:>11}{:>11}";
  std::string text = "\n" +
                     fmt::format(fmt::runtime(kLine), "step forecast", "measured",
                                 "speedup forecast (90 %)", "measured", "error") +
                     "\n";
  for (const ComparedRow& row : comparison.rows) {
    const Interval& s = row.forecast.speedup;
    text += wrapped(terminal_text(row_name(row)), 2);
    text +=
        terminal_text(fmt::format(fmt::runtime(kLine), seconds_text(row.forecast.step_time_s.value),
                                  seconds_text(row.measured.value),
                                  fmt::format("{} ({}-{})", number_text(s.value),
                                              number_text(s.low), number_text(s.high)),
                                  row.measured_speedup ? number_text(*row.measured_speedup) : "-",
                                  signed_percent(row.error))) +
        "\n";
  }
  return text;
}

std::string largest_errors(const Comparison& comparison) {
  std::string text = "\nLargest errors\n";
  std::size_t shown = 0;
  for (const ComparedRow* row : worst_first(comparison.rows)) {
    if (shown++ == kWorstRows) break;
    text += fmt::format("{:>8}  ", signed_percent(row->error));
    text += wrapped(
        terminal_text(fmt::format("{} for {}: {}", seconds_text(row->forecast.step_time_s.value),
                                  seconds_text(row->measured.value), row_name(*row))),
        10, 10);
  }
  return text;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t column) {
  std::string out;
  indent = std::min(indent, kColumns / 2);
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min({text.find(' '), text.size(), kColumns - indent});
    const bool first = out.empty();
    if (!first && column + 1 + end > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(end);
  }
  return out + "\n";
}

std::string validation_text(const ValidationFacts& facts) {
  std::string text = wrapped(terminal_text(headline(facts)));
  for (const std::string& finding : findings(facts.comparison))
    text += wrapped(terminal_text(finding));
  text += "\n" + summary_lines(facts.comparison);
  text += "\nBaselines on the same rows\n" + baseline_lines(facts.comparison);
  text += facts.comparison.rows.size() <= kFewRows ? all_rows(facts.comparison)
                                                   : largest_errors(facts.comparison);
  return text;
}

}  // namespace ddpx::report
