#include "validation/sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "validation/percentile.hpp"

namespace ddpx {
namespace {

using RowsBySize = std::map<double, std::vector<const ComparedRow*>>;

std::string whole(double value) { return std::to_string(std::llround(value)); }

// Everything but the width, in words. What nearly every run has in common (fp32, SGD, weak scaling,
// PyTorch) goes without saying.
std::string group_of(const ComparedRow& row) {
  const Job& job = row.run->job;
  std::string group = row.run->link + ", " + std::to_string(job.gpus) + " GPUs, " +
                      describe(job.strategy) + ", batch " + whole(job.batch_per_rank);
  if (job.dtype != DType::fp32) group += ", " + std::string(name(job.dtype));
  if (job.optimizer != Optimizer::sgd) group += ", " + std::string(name(job.optimizer));
  if (job.scaling == Scaling::strong) group += ", strong scaling";
  if (job.engine != Engine::torch) group += ", " + std::string(name(job.engine));
  if (job.graphs) group += ", CUDA graphs";
  return group + ", " + series_of(row.network);
}

// The measured speedup with the spread of the step over fresh processes.
Interval measured_speedup(const ComparedRow& row) {
  const double value = *row.measured_speedup;
  return {value, value * row.measured.value / row.measured.high,
          value * row.measured.value / row.measured.low};
}

Interval exactly(double value) { return {value, value, value}; }

// Median of the values, extremes of the intervals; nothing of nothing.
std::optional<Interval> pooled(const std::vector<Interval>& intervals) {
  if (intervals.empty()) return std::nullopt;
  Interval pool = intervals.front();
  std::vector<double> values;
  for (const Interval& interval : intervals) {
    values.push_back(interval.value);
    pool.low = std::min(pool.low, interval.low);
    pool.high = std::max(pool.high, interval.high);
  }
  pool.value = percentile(std::move(values), 0.5);
  return pool;
}

void add_size(SweepComparison& sweep, double parameters,
              const std::vector<const ComparedRow*>& rows) {
  std::vector<Interval> speedups;
  std::vector<Interval> shares;
  for (const ComparedRow* row : rows) {
    if (row->measured_speedup) speedups.push_back(measured_speedup(*row));
    if (row->run->measured_communication_share) {
      shares.push_back(exactly(*row->run->measured_communication_share));
    }
  }
  const Forecast& forecast = rows.front()->forecast;
  sweep.forecast.push_back({parameters, forecast.speedup});
  sweep.forecast_communication.push_back(
      {parameters, exactly(forecast.step.communication_share())});
  if (const auto speedup = pooled(speedups)) sweep.measured.push_back({parameters, *speedup});
  if (const auto share = pooled(shares)) {
    sweep.measured_communication.push_back({parameters, *share});
  }
}

}  // namespace

std::vector<SweepComparison> sweeps_of(std::span<const ComparedRow> rows) {
  std::vector<std::pair<std::string, RowsBySize>> groups;
  for (const ComparedRow& row : rows) {
    const std::string group = group_of(row);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& entry) { return entry.first == group; });
    if (found == groups.end()) found = groups.emplace(groups.end(), group, RowsBySize{});
    found->second[row.parameters].push_back(&row);
  }
  std::vector<SweepComparison> sweeps;
  for (const auto& [group, sizes] : groups) {
    if (sizes.size() < 2) continue;
    SweepComparison sweep;
    sweep.group = group;
    sweep.family = sizes.begin()->second.front()->family;
    for (const auto& [parameters, its] : sizes) add_size(sweep, parameters, its);
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

CrossingComparison compare_crossings(const SweepComparison& sweep) {
  std::vector<SweepPoint> forecast;
  for (const SweepPoint& point : sweep.forecast) {
    const auto same_size = [&](const SweepPoint& measured) { return measured.x == point.x; };
    if (std::any_of(sweep.measured.begin(), sweep.measured.end(), same_size)) {
      forecast.push_back(point);
    }
  }
  return {sweep.group, crossings(forecast), crossings(sweep.measured)};
}

}  // namespace ddpx
