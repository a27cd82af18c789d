#include "predict/plan_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "predict/text.hpp"
#include "predict/words.hpp"

namespace ddpx {
namespace {

bool one_link(const ForecastDocument& document) {
  return std::all_of(document.rows.begin(), document.rows.end(),
                     [&](const ForecastRow& r) { return r.link == document.rows.front().link; });
}

bool one_network(const ForecastDocument& document) {
  return std::all_of(document.rows.begin(), document.rows.end(), [&](const ForecastRow& r) {
    return r.network == document.rows.front().network;
  });
}

bool one_batch(const ForecastDocument& document) {
  return !document.decision->question.one_gpu_batch;
}

// What tells a plan from the others: "1 GPU", "2x8 ddp,accumulate=8".
std::string plan_name(const ForecastDocument& document, const ForecastRow& row) {
  std::string strategy = describe(row.job.strategy);
  if (strategy.starts_with("ddp,")) strategy.erase(0, 4);
  std::string name =
      row.nodes == 1 ? std::to_string(row.job.gpus)
                     : std::to_string(row.nodes) + "x" + std::to_string(row.job.gpus / row.nodes);
  if (row.job.gpus == 1) {
    name += " GPU";
    if (row.job.strategy.micro_batches > 1) name += " " + strategy;
  } else {
    name += " " + strategy;
    if (!one_link(document)) name += " " + printable(row.link);
  }
  if (!one_batch(document)) name += " batch " + count_text(row.job.batch_per_rank);
  if (!one_network(document)) name += " " + printable(row.network);
  return name;
}

// Three significant digits: small amounts of money differ by theirs.
std::string amount_of_money(double cost) {
  if (cost >= 0.1 || cost < 1e-6) return three_digits(cost);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", cost);
  return text;
}

std::string money_text(const PlanQuestion& question, double cost) {
  const std::string unit = !question.prices ? " GPU-h"
                           : question.prices->currency.empty()
                               ? ""
                               : " " + printable(question.prices->currency);
  return amount_of_money(cost) + unit;
}

std::string range_text(const Interval& i, const std::function<std::string(double)>& text) {
  return text(i.value) + " (90 %: " + text(i.low) + " to " + text(i.high) + ")";
}

// One GPU uses no link: over every further link its plan is the same.
bool repeated(const ForecastDocument& document, const ForecastRow& row) {
  if (row.job.gpus > 1) return false;
  return std::any_of(document.rows.data(), &row, [&](const ForecastRow& earlier) {
    return earlier.job.gpus == 1 && earlier.network == row.network &&
           earlier.job.batch_per_rank == row.job.batch_per_rank &&
           describe(earlier.job.strategy) == describe(row.job.strategy);
  });
}

struct PlanField {
  TextTable::Column column;
  std::function<std::string(const ForecastRow&)> cell;
};

TextTable plan_table(const ForecastDocument& document, const std::vector<PlanField>& fields) {
  std::vector<TextTable::Column> columns{{"plan", true}};
  for (const PlanField& field : fields) columns.push_back(field.column);
  TextTable table(std::move(columns));
  for (const ForecastRow& row : document.rows) {
    if (repeated(document, row)) continue;
    std::vector<std::string> cells{plan_name(document, row)};
    for (const PlanField& field : fields) cells.push_back(field.cell(row));
    table.add(std::move(cells));
  }
  return table;
}

std::string table_text(const ForecastDocument& document) {
  const PlanQuestion& question = document.decision->question;
  std::vector<PlanField> fields;
  const auto add = [&](bool asked, const char* head, auto cell) {
    if (asked) fields.push_back({{head}, [cell](const ForecastRow& r) { return cell(*r.plan); }});
  };
  const bool target = question.samples && question.critical;
  add(true, "batch", [](const Plan& p) { return amount_text(p.global_batch); });
  add(question.learning_rate.has_value(), "rate", [](const Plan& p) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g", *p.learning_rate);
    return std::string(text);
  });
  add(question.prices.has_value(), "cost/M",
      [](const Plan& p) { return amount_of_money(p.cost_per_million->value); });
  add(question.samples.has_value(), "run",
      [](const Plan& p) { return duration_text(p.run_s->value); });
  add(question.samples.has_value(), "costs",
      [](const Plan& p) { return amount_of_money(p.run_cost->value); });
  add(question.critical.has_value(), "samples",
      [](const Plan& p) { return factor_text(p.samples_ratio->value); });
  add(target, "steps", [](const Plan& p) { return amount_text(p.target_steps->value); });
  add(question.critical.has_value(), "to target",
      [](const Plan& p) { return interval_text(*p.target_speedup); });
  add(target, "time", [](const Plan& p) { return duration_text(p.target_s->value); });
  add(target, "costs", [](const Plan& p) { return amount_of_money(p.target_cost->value); });
  add(std::any_of(document.rows.begin(), document.rows.end(),
                  [](const ForecastRow& r) { return !r.plan->fits; }),
      "fits", [](const Plan& p) { return std::string(p.fits ? "yes" : "no"); });
  return plan_table(document, fields).text();
}

std::string choice_text(const ForecastDocument& document) {
  const Decision& decision = *document.decision;
  const PlanQuestion& question = decision.question;
  if (!question.samples || !one_network(document)) return "";
  const std::string by =
      question.deadline ? " within " + duration_text(question.deadline->value()) : "";
  const auto time_of = [&](const ForecastRow& row) {
    return range_text(*row.plan->time(), duration_text);
  };
  const auto plans =
      std::count_if(document.rows.begin(), document.rows.end(),
                    [&](const ForecastRow& row) { return !repeated(document, row); });
  const std::string memory =
      size_text(decision.memory.size) + " (" + printable(decision.memory.from) + ")";
  const auto large = std::count_if(
      document.rows.begin(), document.rows.end(),
      [&](const ForecastRow& row) { return !row.plan->fits && !repeated(document, row); });
  const std::string left_out =
      large == 0
          ? ""
          : " " + std::to_string(large) + (large == 1 ? " plan does" : " plans do") +
                " not fit in " + memory + " and " + (large == 1 ? "is" : "are") + " left out.";
  if (decision.row) {
    const ForecastRow& row = document.rows[*decision.row];
    std::string text = "Cheapest of " + std::to_string(plans) + (plans == 1 ? " plan" : " plans") +
                       by + ": " + plan_name(document, row) + ", " + time_of(row) + ", " +
                       money_text(question, row.plan->cost()->value) + ".";
    text += left_out;
    if (!decision.certain)
      text += " It is too close to call: the end of its interval misses the deadline.";
    return wrapped(text);
  }
  const ForecastRow* fastest = nullptr;
  for (const ForecastRow& row : document.rows) {
    if (row.plan->fits &&
        (fastest == nullptr || row.plan->time()->value < fastest->plan->time()->value))
      fastest = &row;
  }
  if (fastest == nullptr) return wrapped("No plan fits in " + memory + ".");
  return wrapped("No plan of " + std::to_string(plans) + " is done" + by + ": the fastest, " +
                 plan_name(document, *fastest) + ", takes " + time_of(*fastest) + "." + left_out);
}

// Plans that pay in samples per second and not in time to target.
std::string paradox_text(const ForecastDocument& document) {
  std::size_t plans = 0;
  const ForecastRow* first = nullptr;
  for (const ForecastRow& row : document.rows) {
    if (row.forecast.verdict != Verdict::pays || row.plan->target_verdict == Verdict::pays)
      continue;
    if (++plans == 1) first = &row;
  }
  if (first == nullptr) return "";
  return wrapped(std::to_string(plans) + (plans == 1 ? " plan pays" : " plans pay") +
                 " in samples per second but not for certain in time to target: " +
                 plan_name(document, *first) + (plans == 1 ? " is " : ", the first, is ") +
                 factor_text(first->forecast.speedup.value) + " and " +
                 factor_text(first->plan->target_speedup->value) + ".");
}

std::string batch_text(const ForecastDocument& document) {
  const PlanQuestion& question = document.decision->question;
  std::string text;
  double largest = 0;
  double one = 0;
  for (const ForecastRow& row : document.rows) {
    if (row.plan->global_batch > largest) one = row.plan->one_gpu_batch;
    largest = std::max(largest, row.plan->global_batch);
  }
  if (question.critical) {
    const CriticalBatch& c = *question.critical;
    const std::string range = amount_text(c.low) + "-" + amount_text(c.high);
    text += wrapped(
        "Critical batch " + amount_text(c.middle()) +
        (c.assumed        ? " (" + range + ": a public range, for yours is not known)"
         : c.high > c.low ? " (" + range + ")"
                          : "") +
        ": beyond that global batch more GPUs, or more accumulation, buy less than half of what "
        "they add in samples per second.");
    text += paradox_text(document);
  }
  if (!question.learning_rate && !question.critical) return text;
  const bool linear = question.rule == RateRule::linear;
  const double most = question.critical ? std::min(kLargestLinearBatch, question.critical->middle())
                                        : kLargestLinearBatch;
  text += wrapped("Learning rate: " + std::string(linear ? "linear" : "square root") +
                  " in the global batch, up to " +
                  factor_text(rate_factor(question.rule, one, largest)) +
                  " one GPU's, after a warm-up of 5 epochs.");
  if (!linear || largest <= most) return text;
  std::string warning = "Linear scaling is not known to hold above a global batch of " +
                        amount_text(most) + ", and the largest here is " + amount_text(largest);
  if (question.critical)
    warning += ": by the critical batch the best rate there is " +
               factor_text(rate_factor_of_curve(one, largest, question.critical->middle())) +
               " one GPU's";
  return text + wrapped(warning + ".");
}

std::string legend(const PlanQuestion& question) {
  std::string text = "plans by GPUs and strategy; batch: global";
  if (question.prices) text += "; cost/M: of a million samples";
  if (question.samples) text += "; run: " + amount_text(*question.samples) + " samples";
  if (question.samples && !question.prices) text += "; costs in GPU-hours";
  if (question.critical && !question.one_gpu_batch)
    text += "; samples and speedup to the same target, over one GPU";
  if (question.critical && question.one_gpu_batch)
    text += "; samples to the same target, over one GPU at batch " +
            count_text(*question.one_gpu_batch) + ", and speedup, over one GPU at the same batch";
  return wrapped(text);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 120) return time_text(Seconds(seconds));
  if (seconds < 2 * 3600) return three_digits(seconds / 60) + " min";
  if (seconds < 72 * 3600) return three_digits(seconds / 3600) + " h";
  return three_digits(seconds / 86400) + " days";
}

std::string plans_text(const ForecastDocument& document) {
  if (!document.decision) return "";
  return "\n" + choice_text(document) + batch_text(document) + legend(document.decision->question) +
         "\n" + table_text(document);
}

}  // namespace ddpx
