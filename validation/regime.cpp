#include "validation/regime.hpp"

#include <algorithm>
#include <cmath>

#include "validation/percentile.hpp"

namespace ddpx {
namespace {

bool plain(const Strategy& strategy) {
  return strategy.micro_batches == 1 && strategy.sharding == Sharding::none &&
         !strategy.compression;
}

// Whether a one-GPU row ran what `row` ran, but for the network.
bool same_work(const RunRow& one, const RunRow& row) {
  return one.job.batch_per_rank == row.job.batch_per_rank && one.job.dtype == row.job.dtype &&
         one.job.optimizer == row.job.optimizer && one.job.engine == row.job.engine &&
         one.job.graphs == row.job.graphs;
}

}  // namespace

std::string series_of(std::string_view network) {
  const std::size_t colon = network.find(':');
  if (colon == std::string_view::npos) return std::string(network);
  std::string series(network.substr(0, colon + 1));
  std::size_t begin = colon + 1;
  while (begin < network.size()) {
    const std::size_t end = std::min(network.find(',', begin), network.size());
    const std::string_view word = network.substr(begin, end - begin);
    if (!word.starts_with("width=") && !word.starts_with("hidden=")) {
      if (series.back() != ':') series += ',';
      series += word;
    }
    begin = end + 1;
  }
  return series;
}

OneGpuRows::OneGpuRows(const Runs& runs,
                       const std::function<double(const RunRow&)>& flops_per_sample) {
  for (const RunRow& row : runs.rows) {
    if (row.job.gpus != 1 || !plain(row.job.strategy)) continue;
    entries_.push_back({&row, row.step_time_s(), flops_per_sample(row), series_of(row.network)});
  }
}

std::vector<const OneGpuRows::Entry*> OneGpuRows::matching(const RunRow& row) const {
  std::vector<const Entry*> same_link;
  std::vector<const Entry*> any_link;
  for (const Entry& entry : entries_) {
    if (entry.row->network != row.network || !same_work(*entry.row, row)) continue;
    any_link.push_back(&entry);
    if (entry.row->link == row.link) same_link.push_back(&entry);
  }
  return same_link.empty() ? any_link : same_link;
}

std::optional<Interval> OneGpuRows::step_of(const RunRow& row) const {
  const std::vector<const Entry*> found = matching(row);
  if (found.empty()) return std::nullopt;
  Interval step = found.front()->step;
  std::vector<double> values;
  for (const Entry* entry : found) {
    values.push_back(entry->step.value);
    step.low = std::min(step.low, entry->step.low);
    step.high = std::max(step.high, entry->step.high);
  }
  step.value = percentile(std::move(values), 0.5);
  return step;
}

std::optional<Regime> OneGpuRows::regime_of(const RunRow& row) const {
  const auto by_share = [](double share) {
    return share >= kBusyShare ? Regime::gpu_bound : Regime::host_bound;
  };
  if (row.device_busy_share) return by_share(*row.device_busy_share);
  const std::vector<const Entry*> own = matching(row);
  if (own.empty()) return std::nullopt;
  for (const Entry* entry : own) {
    if (entry->row->device_busy_share) return by_share(*entry->row->device_busy_share);
  }

  const double flops = own.front()->flops;
  const Entry* larger = nullptr;
  const Entry* smaller = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.series != own.front()->series || !same_work(*entry.row, row)) continue;
    if (entry.flops > flops && (!larger || entry.flops < larger->flops)) larger = &entry;
    if (entry.flops < flops && (!smaller || entry.flops > smaller->flops)) smaller = &entry;
  }
  const Entry* neighbour = larger ? larger : smaller;
  if (!neighbour) return std::nullopt;
  const double rate = flops / step_of(row)->value;
  const double neighbours_rate = neighbour->flops / step_of(*neighbour->row)->value;
  return std::abs(rate / neighbours_rate - 1.0) <= kFollowsFlops ? Regime::gpu_bound
                                                                 : Regime::host_bound;
}

}  // namespace ddpx
