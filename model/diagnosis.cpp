#include "model/diagnosis.hpp"

#include <algorithm>

namespace ddpx {
namespace {

// Two runs of one step differ by less.
constexpr double kPointTolerance = 0.05;
constexpr double kExplains = 0.5;

struct Slowest {
  int rank = 0;
  Seconds late{};  // behind the median
  Seconds median{};
};

std::optional<Slowest> slowest_of(const std::vector<Seconds>& times) {
  if (times.size() < 2) return std::nullopt;
  std::vector<Seconds> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  // The lower of two middle ones: of two ranks the faster is the measure.
  const Seconds median = sorted[(sorted.size() - 1) / 2];
  const auto slowest = std::max_element(times.begin(), times.end());
  return Slowest{static_cast<int>(slowest - times.begin()), *slowest - median, median};
}

}  // namespace

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::none:
      return "none";
    case Cause::communication:
      return "communication";
    case Cause::latency:
      return "latency";
    case Cause::host:
      return "host";
    case Cause::slow_rank:
      return "slow_rank";
    case Cause::slow_compute:
      return "slow_compute";
    case Cause::loader:
      return "loader";
    case Cause::unexplained:
      break;
  }
  return "unexplained";
}

std::string_view name(PointFault fault) {
  return fault == PointFault::more_than_linear ? "more_than_linear" : "slower_than_larger";
}

const Finding* Diagnosis::finding(Cause cause) const {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.cause == cause; });
  return found == findings.end() ? nullptr : &*found;
}

Diagnosis diagnose(const Observation& o) {
  Diagnosis result;
  const Seconds step = o.many.time;
  if (o.one) result.excess = step - o.one->time * o.work;
  const auto add = [&](Cause cause, Seconds explains, std::optional<int> rank = std::nullopt) {
    result.findings.push_back({cause, std::max(Seconds{}, explains), rank});
  };
  if (const auto slow = slowest_of(o.ranks.compute)) {
    add(Cause::slow_rank, slow->late,
        slow->late > slow->median * kSlowRank ? std::optional(slow->rank) : std::nullopt);
    // One GPU's step holds the update too, so that this is the least of it.
    if (o.one && slow->median > o.one->time * o.work * (1 + kSlowRank))
      add(Cause::slow_compute, slow->median - o.one->time * o.work);
  }
  Seconds data{};
  if (const auto slow = slowest_of(o.ranks.data)) {
    data = slow->late;
    add(Cause::loader, data,
        slow->late > step * kSlowRank ? std::optional(slow->rank) : std::nullopt);
  } else if (o.many.data) {
    data = *o.many.data - (o.one && o.one->data ? *o.one->data : Seconds{});
    add(Cause::loader, data);
  } else if (o.fed) {
    data = *o.fed - (o.one ? o.one->time * o.work : step);
    add(Cause::loader, data);
  }
  if (o.many.busy) {
    const double one_idle = o.one && o.one->busy ? 1 - *o.one->busy : 0;
    const Seconds usual = o.one ? o.one->time * o.work * one_idle : Seconds{};
    add(Cause::host, step * (1 - *o.many.busy) - usual - std::max(Seconds{}, data));
  }
  if (o.exchange) {
    add(Cause::communication, o.exchange->exposed * (1 - o.exchange->latency_share));
    add(Cause::latency, o.exchange->exposed * o.exchange->latency_share);
  }
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.explains > b.explains; });
  if (result.excess && *result.excess < step * kNoExcess) {
    result.verdict = Cause::none;
    return result;
  }
  const Seconds least = result.excess ? *result.excess * kExplains : step * kSlowRank;
  result.not_communication = o.exchange && std::max(o.exchange->exposed, o.exchange->high) < least;
  if (result.findings.empty()) return result;
  const Finding& largest = result.findings.front();
  const Finding* all = result.finding(Cause::slow_compute);
  const Finding* one = result.finding(Cause::slow_rank);
  if (largest.explains >= least) {
    result.verdict = largest.cause;
  } else if (all != nullptr && all->explains + one->explains >= least) {
    // A slow rank and slow ranks only together.
    result.verdict = one->explains > all->explains ? Cause::slow_rank : Cause::slow_compute;
  } else if (o.exchange && o.exchange->exposed >= least) {
    // Transfer and latency only together.
    result.verdict = o.exchange->latency_share > 0.5 ? Cause::latency : Cause::communication;
  }
  return result;
}

std::vector<PointFlag> flag_points(std::span<const MeasuredSpeedup> points) {
  std::vector<PointFlag> flags;
  const auto each = [](const MeasuredSpeedup& p) { return p.speedup / p.gpus; };
  std::vector<bool> superlinear(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    superlinear[i] = points[i].gpus > 1 && each(points[i]) > 1 + kPointTolerance;
    if (superlinear[i])
      flags.push_back(
          {static_cast<int>(points[i].gpus), PointFault::more_than_linear, each(points[i]), 1});
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].gpus <= 1 || superlinear[i]) continue;
    std::size_t best = i;
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      if (!superlinear[j] && each(points[j]) > each(points[best])) best = j;
    }
    const double ratio = each(points[best]) / each(points[i]);
    if (ratio > 1 + kPointTolerance)
      flags.push_back({static_cast<int>(points[i].gpus), PointFault::slower_than_larger, ratio,
                       static_cast<int>(points[best].gpus)});
  }
  return flags;
}

}  // namespace ddpx
