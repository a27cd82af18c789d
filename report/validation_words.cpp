#include "report/validation_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/words.hpp"

namespace ddpx::report {
namespace {

// "forward", "exposed communication".
std::string spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string verdict_sentence(const ErrorSummary& all) {
  if (all.verdicts_judged == 0) {
    return "No verdict could be judged: no row has a measured one-GPU step beside it and lies more "
           "than 5 % from "
           "break-even.";
  }
  if (all.verdicts_judged == 1) {
    return fmt::format(
        "Whether more GPUs pay was forecast {} for the one row measured more than 5 "
        "% from break-even.",
        all.verdicts_right == 1 ? "right"
        : all.too_close == 1    ? "as too close to call, which counts as wrong,"
                                : "wrong");
  }
  std::string text = fmt::format(
      "Whether more GPUs pay was forecast right for {} of the {} measured more than 5 % from "
      "break-even.",
      all.verdicts_right, counted(all.verdicts_judged, "row"));
  if (all.too_close > 0) {
    text += fmt::format(" {} of them {} forecast as too close to call, which counts as wrong.",
                        all.too_close, all.too_close == 1 ? "was" : "were");
  }
  return text;
}

std::string interval_sentence(const ErrorSummary& all) {
  if (all.rows == 1)
    return fmt::format("The 90 % interval {} the measured step; it is {} wide to either side.",
                       all.interval_coverage > 0 ? "holds" : "does not hold",
                       percent(all.median_half_width));
  return fmt::format(
      "The 90 % intervals hold {} of the measured steps; in the median they are {} wide to either "
      "side.",
      percent(all.interval_coverage), percent(all.median_half_width));
}

// Whether the forecast is at least as good as a baseline in median and 95th percentile, on the rows
// both could be scored on.
bool beats(const BaselineSummary& baseline) {
  return baseline.forecast_on_same_rows.median_abs_error < baseline.summary.median_abs_error &&
         baseline.forecast_on_same_rows.p95_abs_error < baseline.summary.p95_abs_error;
}

std::string baseline_sentence(const std::vector<BaselineSummary>& baselines, std::size_t rows) {
  const std::string in = rows > 1 ? " in median and 95th percentile" : "";
  std::string beaten;
  std::string others;
  for (const BaselineSummary& baseline : baselines) {
    std::string& list = beats(baseline) ? beaten : others;
    list += (list.empty() ? "" : ", ") + std::string(name(baseline.baseline));
  }
  if (others.empty())
    return "The forecast is closer than every baseline (" + beaten + ")" + (in.empty() ? "" : ",") +
           in + ".";
  if (beaten.empty())
    return (in.empty() ? "No baseline is beaten: "
                       : "No baseline is beaten in both median and 95th percentile: ") +
           others + ".";
  return "The forecast is closer than " + beaten + in + (in.empty() ? "" : ",") + " but not than " +
         others + ".";
}

// Of fewer rows the 95th percentile lies between the two largest errors.
constexpr std::size_t kRowsOfAPercentile = 20;

}  // namespace

std::string headline(const ValidationFacts& facts) {
  const ErrorSummary& all = facts.comparison.summary;
  std::string text =
      fmt::format("The forecast step is {} off the measured one", percent(all.median_abs_error));
  if (all.rows == 1) {
    text += ", of 1 row.";
  } else if (all.rows < kRowsOfAPercentile) {
    text += fmt::format(" in the median of {} rows, and at most {} off.", all.rows,
                        percent(all.max_abs_error));
  } else {
    text +=
        fmt::format(" in the median of {} rows, and at most {} off in 95 % of them (worst: {}).",
                    all.rows, percent(all.p95_abs_error), percent(all.max_abs_error));
  }
  if (facts.tolerance) {
    text += fmt::format(" The median is {} the tolerance of {}.",
                        all.median_abs_error <= *facts.tolerance ? "within" : "outside",
                        percent(*facts.tolerance));
  }
  return text;
}

Callout::Tone tone(const ValidationFacts& facts) {
  if (!facts.tolerance) return Callout::Tone::neutral;
  const bool within = facts.comparison.summary.median_abs_error <= *facts.tolerance;
  return within ? Callout::Tone::good : Callout::Tone::bad;
}

bool shares_work(const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                     [](const ComparedRow& row) { return row.run->job.gpus > 1; });
}

std::vector<std::string> findings(const Comparison& comparison) {
  if (!shares_work(comparison)) return {interval_sentence(comparison.summary)};
  return {verdict_sentence(comparison.summary), interval_sentence(comparison.summary),
          baseline_sentence(comparison.baselines, comparison.summary.rows)};
}

std::string words(Regime regime) {
  return regime == Regime::gpu_bound ? "GPU-bound" : "host-bound";
}

std::string words(const std::optional<Verdict>& verdict) {
  if (!verdict) return std::string(kNothing);
  return *verdict == Verdict::too_close ? "too close to call" : spaced(name(*verdict));
}

std::string judgement(const ComparedRow& row) {
  if (!row.verdict_right) return std::string(kNothing);
  return *row.verdict_right ? "right" : "wrong";
}

std::string verdicts(const ErrorSummary& summary) {
  if (summary.verdicts_judged == 0) return std::string(kNothing);
  return fmt::format("{} of {}", summary.verdicts_right, summary.verdicts_judged);
}

std::string how(const Job& job) {
  std::string text = describe(job.strategy);
  if (job.dtype != DType::fp32) text += ", " + std::string(name(job.dtype));
  if (job.optimizer != Optimizer::sgd) text += ", " + std::string(name(job.optimizer));
  return text;
}

std::string row_name(const ComparedRow& row) {
  const Job& job = row.run->job;
  const std::string where = job.gpus == 1
                                ? std::string(row.run->link_name())
                                : fmt::format("{} GPUs, {}", job.gpus, row.run->link_name());
  return fmt::format("{}, batch {}, {}, {}", row.network, count_text(job.batch_per_rank), how(job),
                     where);
}

std::string explanation(const ComparedRow& row) {
  std::string text = fmt::format("largest term {} ({} of the forecast)",
                                 spaced(name(row.dominant_term)), percent(row.dominant_share));
  if (row.least_certain) {
    text += fmt::format(
        "; least certain: {} ({})", spaced(name(*row.least_certain)),
        percent(row.forecast.sensitivity[static_cast<std::size_t>(*row.least_certain)]));
  }
  if (row.error_parts) {
    text += fmt::format("; {} from exposed communication, {} from everything else",
                        signed_percent(row.error_parts->communication),
                        signed_percent(row.error_parts->rest));
  }
  if (!row.rests_on.empty()) text += "; " + row.rests_on;
  if (!row.run->note.empty()) text += "; note: " + row.run->note;
  return text;
}

std::string crossings_text(const std::vector<Crossing>& crossings) {
  if (crossings.empty()) return "none";
  std::string text;
  for (const Crossing& crossing : crossings) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} ({}{} to {}{}), between {} and {}, pays {}",
                        count_text(crossing.x.value), crossing.low_beyond ? "below " : "",
                        count_text(crossing.x.low), crossing.high_beyond ? "above " : "",
                        count_text(crossing.x.high), count_text(crossing.bracket_low),
                        count_text(crossing.bracket_high), name(crossing.pays));
  }
  return text;
}

}  // namespace ddpx::report
