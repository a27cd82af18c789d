#include "validation/score_baselines.hpp"

#include <algorithm>
#include <cmath>

#include "validation/summary.hpp"

namespace ddpx {
namespace {

std::optional<double>& error_of(ComparedRow& row, Baseline baseline) {
  return row.baseline_error[static_cast<std::size_t>(baseline)];
}

// The error of a step that follows from a forecast speedup. One-GPU samples per second cancel:
// step / measured = measured speedup / forecast speedup.
void score_speedup(ComparedRow& row, Baseline baseline, double speedup) {
  if (!(speedup > 0) || !std::isfinite(speedup)) return;
  error_of(row, baseline) = *row.measured_speedup / speedup - 1.0;
}

bool same_strategy_and_count(const ComparedRow& a, const ComparedRow& b) {
  return a.run->job.gpus == b.run->job.gpus &&
         describe(a.run->job.strategy) == describe(b.run->job.strategy);
}

bool same_series(const ComparedRow& a, const ComparedRow& b) {
  const Job& p = a.run->job;
  const Job& q = b.run->job;
  return a.network == b.network && a.run->link == b.run->link && p.scaling == q.scaling &&
         p.batch_per_rank == q.batch_per_rank && p.dtype == q.dtype && p.optimizer == q.optimizer &&
         p.engine == q.engine && p.graphs == q.graphs &&
         describe(p.strategy) == describe(q.strategy);
}

std::vector<MeasuredSpeedup> others_for_amdahl(std::span<const ComparedRow> rows,
                                               const ComparedRow& row, bool other_link) {
  std::vector<MeasuredSpeedup> points;
  for (const ComparedRow& other : rows) {
    if (!other.measured_speedup || other.network == row.network) continue;
    if (other_link && other.run->link == row.run->link) continue;
    if (!same_strategy_and_count(other, row)) continue;
    points.push_back({static_cast<double>(other.run->job.gpus), *other.measured_speedup});
  }
  return points;
}

void score_amdahl(std::span<const ComparedRow> rows, ComparedRow& row, bool other_links_exist) {
  const std::vector<MeasuredSpeedup> points = others_for_amdahl(rows, row, other_links_exist);
  if (points.empty()) return;
  score_speedup(row, Baseline::b5, fit_amdahl(points).speedup(row.run->job.gpus));
}

void score_usl(std::span<const ComparedRow> rows, ComparedRow& row) {
  std::vector<MeasuredSpeedup> points;
  std::vector<int> counts;
  for (const ComparedRow& other : rows) {
    const int gpus = other.run->job.gpus;
    if (!other.measured_speedup || gpus == row.run->job.gpus || !same_series(other, row)) continue;
    points.push_back({static_cast<double>(gpus), *other.measured_speedup});
    if (std::find(counts.begin(), counts.end(), gpus) == counts.end()) counts.push_back(gpus);
  }
  if (counts.size() < 2) return;
  score_speedup(row, Baseline::b6, fit_usl(points).speedup(row.run->job.gpus));
}

// A baseline that is off by `error` in the step forecasts this speedup, on the measured one-GPU
// step.
std::optional<bool> verdict_right(const ComparedRow& row, double error) {
  if (!row.verdict_right) return std::nullopt;
  return (*row.measured_speedup / (1.0 + error) > 1.0) == (*row.measured_speedup > 1.0);
}

}  // namespace

void score_formulas(const Machine& machine, const Link& link, const Network& network,
                    ComparedRow& row) {
  for (const Baseline baseline :
       {Baseline::b0, Baseline::b1, Baseline::b2, Baseline::b3, Baseline::b4}) {
    const Seconds step = baseline_step(baseline, machine, link, network, row.run->job);
    error_of(row, baseline) = step.value() / row.measured.value - 1.0;
  }
}

void score_fits(std::span<ComparedRow> rows) {
  const bool other_links = std::any_of(rows.begin(), rows.end(), [&](const ComparedRow& row) {
    return row.run->link != rows.front().run->link;
  });
  for (ComparedRow& row : rows) {
    if (!row.measured_speedup) continue;
    score_amdahl(rows, row, other_links);
    score_usl(rows, row);
  }
}

std::vector<BaselineSummary> summarise_baselines(std::span<const ComparedRow> rows) {
  std::vector<BaselineSummary> summaries;
  for (const Baseline baseline : kBaselines) {
    std::vector<Score> baselines_own;
    std::vector<Score> forecasts;
    for (const ComparedRow& row : rows) {
      const std::optional<double>& error = row.baseline_error[static_cast<std::size_t>(baseline)];
      if (!error) continue;
      baselines_own.push_back({*error, false, 0, verdict_right(row, *error), false});
      forecasts.push_back(score(row));
    }
    if (baselines_own.empty()) continue;
    summaries.push_back({baseline, summarise(baselines_own), summarise(forecasts)});
  }
  return summaries;
}

}  // namespace ddpx
