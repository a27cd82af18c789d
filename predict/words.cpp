#include "predict/words.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kMostSentences = 8;
constexpr std::size_t kLongestName = 48;

std::string short_name(const std::string& name) { return shortened(printable(name), kLongestName); }

std::string batch_text(const Job& job) {
  const std::string batch = count_text(job.batch_per_rank);
  return job.scaling == Scaling::strong ? "a batch of " + batch + " split over the ranks"
                                        : "batch " + batch + " per rank";
}

std::string range_text(double low, double high) {
  return amount_text(low) + "-" + amount_text(high);
}

bool plain(const std::string& strategy) { return strategy == describe(Strategy{}); }

std::string axis_noun(const CrossoverRow& row) {
  if (row.axis == SweepAxis::parameters) return " parameters";
  return row.ranks_sharing_batch > 1 ? " samples of all ranks" : " samples per rank";
}

// An end that lies outside the sweep is not known.
std::string crossing_range(const Crossing& c) {
  const std::string low = amount_text(c.x.low);
  const std::string high = amount_text(c.x.high);
  if (c.low_beyond && c.high_beyond) return "below " + low + " to above " + high;
  if (c.low_beyond) return "below " + low + " to " + high;
  return c.high_beyond ? low + " to above " + high : low + "-" + high;
}

std::string crossing_text(const CrossoverRow& row, const Crossing& c) {
  return std::string(name(c.pays)) + " " + amount_text(c.x.value) + axis_noun(row) +
         " (90 %: " + crossing_range(c) + ")";
}

// The same sweep in time to target.
std::string target_text(const CrossoverRow& c) {
  if (!c.lowest_target_speedup) return "";
  std::string text = " In time to target it ";
  if (!c.target_crossings.empty())
    return text + "pays " + crossing_text(c, c.target_crossings.front()) + ".";
  const std::string range = factor_text(c.lowest_target_speedup->value) + " to " +
                            factor_text(c.highest_target_speedup->value);
  return text + (c.lowest_target_speedup->value >= 1 ? "is faster" : "is slower") + " at every " +
         (c.axis == SweepAxis::parameters ? "size" : "batch") + ": " + range + ".";
}

std::string without_crossing(const CrossoverRow& c) {
  const std::string range =
      factor_text(c.lowest_speedup.value) + " to " + factor_text(c.highest_speedup.value);
  const std::string sizes = c.axis == SweepAxis::parameters ? "size" : "batch";
  const std::string where = " (" + range_text(c.sweep_low, c.sweep_high) + axis_noun(c) + ")";
  if (c.lowest_speedup.low > 1) return "pays at every " + sizes + " swept" + where + ": " + range;
  if (c.highest_speedup.high < 1)
    return "does not pay at any " + sizes + " swept" + where + ": " + range;
  constexpr double kSame = 1e-9;
  if (c.highest_speedup.value <= 1 + kSame && c.lowest_speedup.value >= 1 - kSame)
    return "gains nothing at any " + sizes + " swept" + where +
           ": the loaders pace one GPU and several alike";
  const bool faster = c.lowest_speedup.value >= 1;
  return std::string(faster ? "is faster" : "is slower") + " at every " + sizes + " swept" + where +
         ", " + range + ", but not everywhere by more than the forecast's interval";
}

std::string sweep_sentence(const ForecastDocument& document, const CrossoverRow& c) {
  std::string text =
      "On " + setting_text(c.gpus, document.device, c.link) + ", training " + short_name(c.network);
  if (c.batch_per_rank && !document.rows.empty()) {
    Job job = document.rows.front().job;
    job.batch_per_rank = *c.batch_per_rank;
    text += " at " + batch_text(job);
  }
  if (!plain(c.strategy)) text += " with " + short_name(c.strategy);
  text += " ";
  if (c.crossings.empty()) return text + without_crossing(c) + "." + target_text(c);
  text += "pays ";
  for (std::size_t i = 0; i < c.crossings.size() && i < 3; ++i) {
    text += (i == 0 ? "" : ", and again ") + crossing_text(c, c.crossings[i]);
  }
  if (c.crossings.size() > 3)
    text += ", and so on: " + std::to_string(c.crossings.size()) + " crossings in all";
  return text + "." + target_text(c);
}

std::string row_sentence(const ForecastDocument& document, const ForecastRow& row) {
  const std::string amount = " (" + amount_text(row.parameters) + " parameters)";
  if (row.job.gpus == 1) {
    // What waits for data takes as long as they do.
    const bool measured = row.forecast.one_gpu_measured && plain(describe(row.job.strategy)) &&
                          !(row.forecast.step.term(Term::loader).value() > 0);
    return "On 1 x " + short_name(document.device) + ", a step of " + short_name(row.network) +
           amount + " at " + batch_text(row.job) +
           (plain(describe(row.job.strategy)) ? "" : " with " + describe(row.job.strategy)) +
           " takes " + time_text(Seconds(row.forecast.step_time_s.value)) +
           (measured ? " (measured)." : ".");
  }
  const Interval& s = row.forecast.speedup;
  const std::string numbers =
      factor_text(s.value) + " (90 %: " + three_digits(s.low) + "-" + three_digits(s.high) + ")";
  const std::string strategy = describe(row.job.strategy);
  std::string text = "On " + setting_text(row.job.gpus, document.device, row.link) + ", training " +
                     short_name(row.network) + amount + " at " + batch_text(row.job) +
                     (plain(strategy) ? "" : " with " + short_name(strategy)) + " ";
  switch (row.forecast.verdict.value()) {
    case Verdict::pays:
      return text + "pays: " + numbers + ".";
    case Verdict::does_not_pay:
      return text + "does not pay: " + numbers + ".";
    case Verdict::too_close:
      break;
  }
  return text + "is too close to call: " + numbers + ".";
}

// Everything but the strategy: rows that compare strategies share it.
auto question_of(const ForecastRow& row) {
  return std::tie(row.link, row.job.gpus, row.job.batch_per_rank, row.network);
}

// Where strategies are compared: which one is the fastest for the first question and by how much.
std::string best_strategy(const ForecastDocument& document) {
  const ForecastRow* best = nullptr;
  std::set<std::string> strategies;
  for (const ForecastRow& row : document.rows) {
    if (question_of(row) != question_of(document.rows.front()))
      return "";  // several questions: the table compares
    strategies.insert(describe(row.job.strategy));
    if (best == nullptr || row.forecast.samples_per_s.value > best->forecast.samples_per_s.value)
      best = &row;
  }
  if (best == nullptr || best->job.gpus < 2 || strategies.size() < 2) return "";
  return "Fastest of " + std::to_string(strategies.size()) +
         " strategies: " + short_name(describe(best->job.strategy)) + ", " +
         factor_text(best->forecast.speedup.value) + ".";
}

std::string width_text(const LearnedWidth& width) {
  return "+- " + percent_text(std::expm1(width.logarithm));
}

std::string coverage_text(const LearnedErrors& errors) {
  if (!errors.step.coverage)
    return " (of " + std::to_string(errors.networks) +
           (errors.networks == 1 ? " network" : " networks") +
           ": how that holds for others is not known)";
  const bool both = errors.speedup && errors.speedup->coverage;
  return " (of steps of networks left out they hold " +
         (both ? percent_text(*errors.speedup->coverage) + " and " : "") +
         percent_text(*errors.step.coverage) + ")";
}

// How the steps lie to one side of the forecast, where nearly all do.
std::string lean_text(const LearnedErrors& errors) {
  if (10 * errors.longer >= 9 * errors.steps) return ", nearly all longer than forecast";
  if (10 * errors.longer <= errors.steps) return ", nearly all shorter than forecast";
  return "";
}

// What steps the intervals were learned from, and how well they hold.
std::string learned_sentence(const ForecastDocument& document) {
  struct Group {
    const LearnedErrors* errors;
    std::set<std::string> strategies;
  };
  std::map<std::tuple<StepKind, double>, Group> all;
  std::set<std::string> strategies;
  std::size_t rows = 0;
  for (const ForecastRow& row : document.rows) {
    if (!row.forecast.learned) continue;
    const LearnedErrors& errors = *row.forecast.learned;
    all.emplace(std::tuple(errors.kind, errors.step.logarithm), Group{&errors, {}})
        .first->second.strategies.insert(describe(row.job.strategy));
    strategies.insert(describe(row.job.strategy));
    ++rows;
  }
  if (rows == 0) return "";
  std::string text = "Intervals of " +
                     (rows == document.rows.size()
                          ? std::string("all")
                          : std::to_string(rows) + " of " + std::to_string(document.rows.size())) +
                     " rows are what judged steps were missed by:";
  const char* separator = " ";
  for (const auto& [key, group] : all) {
    const LearnedErrors* errors = group.errors;
    const StepKind& kind = errors->kind;
    text += separator + std::to_string(errors->steps) + " of " + short_name(kind.model) + " over " +
            short_name(kind.link) + " on " + std::to_string(kind.gpus) + " GPUs, " +
            (kind.regime == Regime::host_bound ? "host-bound" : "GPU-bound") + " on one" +
            lean_text(*errors) + ": speedup ";
    text += errors->speedup ? width_text(*errors->speedup)
                            : "as the constants' errors have it, for it was not measured";
    text += ", step " + width_text(errors->step) + coverage_text(*errors);
    if (strategies.size() > 1) {
      const char* before = " for ";
      for (const std::string& strategy : group.strategies) {
        text += before + strategy;
        before = ", ";
      }
    }
    separator = "; ";
  }
  return text + ".";
}

}  // namespace

std::string setting_text(int gpus, const std::string& device, const std::string& link) {
  return std::to_string(gpus) + " x " + short_name(device) + " over " + short_name(link);
}

std::string verdict_text(const ForecastRow& row) {
  if (!row.forecast.verdict) return "-";
  switch (*row.forecast.verdict) {
    case Verdict::pays:
      return "pays";
    case Verdict::does_not_pay:
      return "does not pay";
    case Verdict::too_close:
      break;
  }
  return "too close";
}

std::string verdicts_in_words(const ForecastDocument& document) {
  std::vector<std::string> sentences;
  for (const CrossoverRow& c : document.crossovers)
    sentences.push_back(sweep_sentence(document, c));
  if (sentences.empty()) {
    for (const ForecastRow& row : document.rows) {
      if (sentences.size() <= kMostSentences) sentences.push_back(row_sentence(document, row));
    }
  }
  const std::size_t all =
      document.crossovers.empty() ? document.rows.size() : document.crossovers.size();
  std::string text;
  const std::string best = best_strategy(document);
  if (!best.empty()) text += wrapped(best);
  for (std::size_t i = 0; i < std::min(sentences.size(), kMostSentences); ++i)
    text += wrapped(sentences[i]);
  if (all > kMostSentences)
    text += wrapped("(" + std::to_string(all - kMostSentences) + " more verdicts: see the table)");
  return text;
}

std::string grounds_in_words(const ForecastDocument& document) {
  std::set<std::string> borrowed;
  std::size_t outside = 0;
  for (const ForecastRow& row : document.rows) {
    borrowed.insert(row.rests_on.begin(), row.rests_on.end());
    if (row.forecast.extrapolated) ++outside;
  }
  const std::string learned = learned_sentence(document);
  if (borrowed.empty() && outside == 0) return learned.empty() ? "" : wrapped(learned);
  std::string text = "Rests on ";
  text += std::to_string(borrowed.size()) +
          (borrowed.size() == 1 ? " borrowed constant" : " borrowed constants");
  text += "; " + std::to_string(outside) + " of " + std::to_string(document.rows.size()) +
          (document.rows.size() == 1 ? " row" : " rows") + " outside the calibration" +
          (outside > 0 ? std::string(" (") + kOutsideMark + ")" : "") +
          (document.rows.front().explanation ? "." : "; --explain names them.");
  return wrapped(text) + (learned.empty() ? "" : wrapped(learned));
}

}  // namespace ddpx
