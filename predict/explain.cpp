#include "predict/explain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/validated.hpp"
#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kMostLines = 12;
constexpr double kWorthShowing = 5e-3;  // per cent of the step for 1 % of a constant
constexpr double kShown = 5e-4;         // half-widths below 0.05 % of the step are left out

std::string spaced(std::string_view term) {
  std::string text(term);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

// What is left of a difference of two equal times is none.
bool is_none(Seconds time, Seconds step) { return std::abs(time / step) < 1e-12; }

std::string time_or_none(Seconds time, Seconds step) {
  return is_none(time, step) ? "-" : time_text(time);
}

std::string terms_text(const ForecastRow& row) {
  const Step& step = row.forecast.step;
  const Seconds total = step.total();
  TextTable table({{"term", true}, {"time"}, {"share"}, {"on one GPU"}});
  for (std::size_t i = 0; i < kTerms; ++i) {
    const auto term = static_cast<Term>(i);
    const Seconds one = row.forecast.one_gpu_step.term(term);
    if (is_none(step.term(term), total) && is_none(one, total)) continue;
    table.add({spaced(name(term)), time_or_none(step.term(term), total),
               percent_text(step.term(term) / total), time_or_none(one, total)});
  }
  table.add(
      {"step", time_text(total), percent_text(1), time_text(row.forecast.one_gpu_step.total())});
  return table.text();
}

// The figures that are called communication, each under the word it has elsewhere.
std::string communication_line(const ForecastRow& row) {
  if (!row.conditions || !row.job.strategy.sync) return "";
  const Step& step = row.forecast.step;
  const Condition& sharing = row.conditions->front();
  const bool hidden = sharing.figure - sharing.lost > kWorthShowing;
  const bool of_host = sharing.lost - sharing.figure > kWorthShowing;
  const std::string rest = hidden    ? ": then the host or the loaders set the pace"
                           : of_host ? ": the host has less to do"
                                     : "";
  return wrapped("Communication, of the step: compute waits " +
                 percent_text(step.communication_share()) + " (comm); collectives run " +
                 percent_text(step.communication_busy_share()) +
                 " (busy); sharing gradients takes " + percent_text(sharing.figure) +
                 " with contention, copies and hooks; without it the step would be " +
                 percent_text(sharing.lost) + " shorter (costs" + rest + ").");
}

bool alike(const CollectiveRow& a, const CollectiveRow& b) {
  return a.kind == b.kind && a.tensors == b.tensors && a.gradient == b.gradient &&
         a.message == b.message && a.ranks == b.ranks && a.per_step == b.per_step;
}

// Buckets of one size in a row share a line.
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<Run> runs_of(const std::vector<CollectiveRow>& rows) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!runs.empty() && alike(rows[runs.back().first], rows[i])) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i});
    }
  }
  return runs;
}

std::string collectives_text(const Explanation& explanation) {
  const std::vector<CollectiveRow>& rows = explanation.collectives;
  if (rows.empty()) return "Nothing is exchanged.\n";
  TextTable table(
      {{"collective", true}, {"tensors"}, {"message"}, {"alone"}, {"bus bandwidth"}, {"of peak"}});
  const auto add = [&](const Run& run) {
    const CollectiveRow& c = rows[run.first];
    std::string label = spaced(name(c.kind)) + " " + std::to_string(run.first + 1);
    if (run.last > run.first) label += "-" + std::to_string(run.last + 1) + ", each";
    if (c.per_step != 1) label += " x" + count_text(c.per_step);
    table.add({label, std::to_string(c.tensors), size_text(c.message), time_text(c.time),
               rate_text(c.bus_bandwidth), percent_text(c.bus_bandwidth / c.peak_bus_bandwidth)});
  };
  const std::vector<Run> runs = runs_of(rows);
  const std::size_t head = runs.size() > kMostLines ? kMostLines - 1 : runs.size();
  for (std::size_t i = 0; i < head; ++i) add(runs[i]);
  if (head < runs.size()) {
    table.add({"(" + std::to_string(runs.back().first - runs[head].first) + " more)", "", "", "",
               "", ""});
    add(runs.back());
  }
  return table.text() + wrapped("The link's peak, the bus bandwidth of a large message: " +
                                rate_text(explanation.peak_bus_bandwidth) + ". A ring sends " +
                                size_text(explanation.sent_per_rank) + " from each rank per step.");
}

std::string interval_lines(const ForecastRow& row) {
  const Forecast& f = row.forecast;
  std::vector<std::size_t> order(kSources);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return f.sensitivity[a] > f.sensitivity[b];
  });
  std::string parts;
  for (std::size_t i : order) {
    if (f.sensitivity[i] < kShown) continue;
    parts +=
        std::string(name(static_cast<Source>(i))) + " " + percent_text(f.sensitivity[i]) + ", ";
  }
  if (row.explanation)
    parts += "the model's residual " + percent_text(row.explanation->residual_half_width);
  const Interval& t = f.step_time_s;
  if (row.job.gpus > 1 && !is_validated(row.job.strategy))
    parts += ", strategies of a kind that no run has validated " +
             percent_text(kNormalQuantile90 * kUnvalidatedError);
  if (f.step.term(Term::loader).value() > 0)
    return wrapped(
        "The loaders set the pace: at the rate given, taken as exact, no step is "
        "shorter than " +
            time_text(Seconds(t.low)) + ". The 90 % interval ends at " +
            time_text(Seconds(t.high)) +
            (t.high > t.value
                 ? ", as far as the step's own sources reach above that: " + parts + "."
                 : ", for no source of the step's own reaches above that."),
        {.rest = 2});
  const std::string step = "The step's 90 % interval, " + time_text(Seconds(t.low)) + " to " +
                           time_text(Seconds(t.high));
  if (f.learned)
    return wrapped(step + ", is what " + std::to_string(f.learned->steps) +
                       " judged steps were missed by" +
                       (f.extrapolated ? ", or more where the errors of constants say so" : "") +
                       ". Without them it would add the squares of what each source alone can move "
                       "it by: " +
                       parts + ".",
                   {.rest = 2});
  return wrapped(
      step + ", adds the squares of what each source alone can move it by: " + parts + ".",
      {.rest = 2});
}

std::string least_sure_line(const ForecastRow& row) {
  if (!row.explanation || !row.explanation->least_sure) return "";
  const auto& [product, half_width, command] = *row.explanation->least_sure;
  const std::string times = command.find("--widths") == std::string::npos
                                ? " times the model's own."
                                : " times it, and again what the machine has: a calibration takes "
                                  "the place of the one before.";
  return wrapped("Of the products that were not measured " + count_text(product.rows) + " x " +
                     count_text(product.in) + " -> " + count_text(product.out) + " (" +
                     std::string(name(product.pass)) + ") is least sure, +- " +
                     percent_text(half_width) + "; " + command + times,
                 {.rest = 2});
}

std::string elasticity_line(const ForecastRow& row) {
  if (!row.explanation) return "";
  std::vector<Elasticity> list = row.explanation->elasticities;
  std::stable_sort(list.begin(), list.end(), [](const Elasticity& a, const Elasticity& b) {
    return a.per_cent > b.per_cent;
  });
  std::string parts;
  for (const Elasticity& e : list) {
    if (std::abs(e.per_cent) < kWorthShowing) continue;
    parts += (parts.empty() ? "" : ", ") + std::string(e.constant) + " " +
             three_digits(e.per_cent) + " %";
  }
  if (parts.empty()) return "";
  return wrapped("1 % slower of each costs the step: " + parts + "; anything else is hidden.",
                 {.rest = 2});
}

// What the machine's own timings of one-GPU steps did to the model's compute.
std::string one_gpu_line(const ForecastRow& row) {
  constexpr double kAlike = 5e-3;
  const Forecast& f = row.forecast;
  const bool moved = std::abs(f.work_scale - 1) > kAlike;
  const std::string scale = factor_text(f.work_scale) + " of the model's";
  if (f.one_gpu_step.term(Term::loader).value() > 0)
    return wrapped("One GPU's plain step waits for its data: it takes " +
                   time_text(Seconds(f.one_gpu_step_s)) + ".");
  if (f.one_gpu_measured) {
    return wrapped((row.job.gpus > 1 ? "Speedup is against the measured one-GPU step, "
                                     : "The plain step is the machine's own timing, ") +
                   time_text(Seconds(f.one_gpu_step_s)) +
                   (moved
                        ? "; its compute is " + scale +
                              (row.job.gpus > 1
                                   ? ", which that run or the work may have had: several GPUs are "
                                     "taken half-way, and no faster than one."
                                   : ".")
                        : "."));
  }
  if (!moved) return "";
  return wrapped("Compute is " + scale +
                 ", as the machine's own one-GPU steps of the nearest sizes have it.");
}

// A speedup below 1, or above N by fewer updates per sample, is outside what the law can say.
std::string amdahl_line(const ForecastRow& row) {
  if (!row.amdahl) return "";
  const double p = row.amdahl->parallel_fraction;
  if (p <= 0 || p >= 1) return wrapped("Amdahl's law has no parallel fraction for this speedup.");
  return wrapped("Amdahl's law through this speedup: parallel fraction " + three_digits(p) + " (" +
                 percent_text(1 - p) + " serial), ceiling " + factor_text(row.amdahl->ceiling()) +
                 ".");
}

// Half an address leads nowhere: the word that reaches past `most` is the last.
std::string whole_words(const std::string& text, std::size_t most) {
  const std::size_t end = columns_of(text) <= most
                              ? std::string::npos
                              : text.find(' ', shortened(text, most).size() - 2);
  return end == std::string::npos ? text : text.substr(0, end) + " .. (--json has all of it)";
}

// Constants of one origin together, an origin of many addresses cut (--json has it whole).
std::vector<std::string> by_origin(const std::vector<std::string>& borrowed) {
  constexpr std::size_t kLongest = 150;
  std::vector<std::pair<std::string, std::string>> groups;  // origin, constants
  for (const std::string& line : borrowed) {
    const std::size_t colon = std::min(line.find(": "), line.size());
    const std::string origin = line.substr(colon);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == origin; });
    if (known == groups.end()) {
      groups.emplace_back(origin, line.substr(0, colon));
    } else {
      known->second += ", " + line.substr(0, colon);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const auto& [origin, constants] : groups)
    lines.push_back(whole_words(printable(constants + origin), kLongest));
  return lines;
}

std::string list_text(const std::string& head, const std::vector<std::string>& lines,
                      const std::string& none) {
  if (lines.empty()) return wrapped(none);
  std::string text = head + "\n";
  for (const std::string& line : lines) text += wrapped("- " + printable(line), {.rest = 2});
  return text;
}

}  // namespace

std::string explanation_text(const ForecastDocument& document, const ForecastRow& row) {
  std::string title = row.job.gpus > 1 ? setting_text(row.job.gpus, document.device, row.link) +
                                             " (" + printable(row.link_title) + ")"
                                       : "1 x " + printable(document.device);
  title += ", " + printable(row.network) + ", batch " + count_text(row.job.batch_per_rank) +
           (row.job.scaling == Scaling::strong ? " of all ranks, " : " per rank, ") +
           describe(row.job.strategy) + "; machine " + printable(document.machine) + ", engine " +
           std::string(name(row.job.engine)) + ", " + std::string(name(row.job.dtype)) + ", " +
           std::string(name(row.job.optimizer)) + "; bound by " +
           std::string(name(row.forecast.step.bound_by()));
  std::string text = wrapped("Why: " + title, {.rest = 5}) + terms_text(row);
  text += communication_line(row);
  if (row.job.gpus > 1 && row.explanation) text += collectives_text(*row.explanation);
  text += one_gpu_line(row);
  text += elasticity_line(row);
  text += amdahl_line(row);
  text += interval_lines(row);
  text += least_sure_line(row);
  text += list_text("Borrowed:", by_origin(row.rests_on),
                    "Nothing is borrowed: every constant was measured on this machine.");
  text += list_text("Outside the calibration:", row.extrapolated,
                    "Nothing lies outside the calibration.");
  return text;
}

}  // namespace ddpx
