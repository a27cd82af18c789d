#include "model/learned.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "model/conformal.hpp"

namespace ddpx {
namespace {

// Of sorted values the `rank`-th (from 0) of those that are not at the ascending positions `out`.
std::size_t position_without(std::size_t rank, std::span<const std::size_t> out) {
  std::size_t position = rank;
  for (const std::size_t removed : out) {
    if (removed > position) break;
    ++position;
  }
  return position;
}

// What a strategy does, without how large its buckets are, over how many channels it sends and how
// often it accumulates.
std::string sort_of(Strategy strategy) {
  strategy.buckets = {};
  strategy.explicit_buckets = false;
  strategy.channels.reset();
  strategy.micro_batches = std::min(strategy.micro_batches, 2);
  return describe(strategy);
}

double largest(std::span<const double> errors) {
  double most = 0;
  for (const double error : errors) most = std::max(most, std::abs(error));
  return most;
}

// Logarithms of ratios of all steps of a kind, and of those of one sort of strategy.
struct Ratios {
  std::vector<double> all;
  std::vector<double> own;
  std::vector<Miss> misses;

  void add(const JudgedStep& step, double ratio, bool of_the_sort) {
    const double logarithm = std::log(ratio);
    all.push_back(logarithm);
    if (of_the_sort) own.push_back(logarithm);
    misses.push_back({step.network, std::abs(logarithm)});
  }
  [[nodiscard]] std::optional<LearnedWidth> width() const {
    const std::optional<double> of_all = conformal_half_width(all, kIntervalCoverage);
    if (!of_all) return std::nullopt;
    const double of_own = conformal_half_width(own, kIntervalCoverage).value_or(largest(own));
    return LearnedWidth{std::max(*of_all, of_own), coverage_leaving_networks_out(misses)};
  }
};

auto identity_of(const JudgedStep& step) {
  return std::tuple(step.kind, step.network, describe(step.strategy), step.batch_per_rank,
                    step.step_ratio, step.speedup_ratio);
}

}  // namespace

std::string_view name(Regime regime) {
  return regime == Regime::gpu_bound ? "gpu_bound" : "host_bound";
}

std::optional<double> coverage_leaving_networks_out(std::span<const Miss> misses) {
  std::vector<Miss> sorted(misses.begin(), misses.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Miss& a, const Miss& b) { return a.size < b.size; });
  std::map<std::string_view, std::vector<std::size_t>> networks;
  for (std::size_t i = 0; i < sorted.size(); ++i) networks[sorted[i].network].push_back(i);
  std::size_t judged = 0;
  std::size_t inside = 0;
  for (const auto& [network, own] : networks) {
    const std::optional<std::size_t> rank =
        conformal_rank(sorted.size() - own.size(), kIntervalCoverage);
    if (!rank) continue;
    const double half_width = sorted[position_without(*rank, own)].size;
    judged += own.size();
    for (const std::size_t i : own) inside += sorted[i].size <= half_width ? 1U : 0U;
  }
  if (judged == 0) return std::nullopt;
  return static_cast<double>(inside) / static_cast<double>(judged);
}

StepKind kind_of(const std::string& network, const std::string& link, const Job& job,
                 Regime regime) {
  return {network.substr(0, network.find(':')),
          link,
          job.gpus,
          job.scaling,
          job.dtype,
          job.optimizer,
          job.engine,
          job.graphs,
          regime};
}

Interval LearnedWidth::around(double value) const {
  return {value, value * std::exp(-logarithm), value * std::exp(logarithm)};
}

Learned::Learned(std::vector<JudgedStep> steps) : steps_(std::move(steps)) {
  std::sort(steps_.begin(), steps_.end(), [](const JudgedStep& a, const JudgedStep& b) {
    return identity_of(a) < identity_of(b);
  });
  steps_.erase(std::unique(steps_.begin(), steps_.end(),
                           [](const JudgedStep& a, const JudgedStep& b) {
                             return identity_of(a) == identity_of(b);
                           }),
               steps_.end());
  sorts_.reserve(steps_.size());
  for (const JudgedStep& step : steps_) sorts_.push_back(sort_of(step.strategy));
}

std::span<const JudgedStep> Learned::of_kind(const StepKind& kind) const {
  const auto first =
      std::lower_bound(steps_.begin(), steps_.end(), kind,
                       [](const JudgedStep& step, const StepKind& k) { return step.kind < k; });
  const auto last =
      std::upper_bound(first, steps_.end(), kind,
                       [](const StepKind& k, const JudgedStep& step) { return k < step.kind; });
  return {first, last};
}

std::optional<LearnedErrors> Learned::errors_of(const StepKind& kind,
                                                const Strategy& strategy) const {
  const std::string sort = sort_of(strategy);
  LearnedErrors errors;
  errors.kind = kind;
  Ratios of_steps;
  Ratios of_speedups;
  std::set<std::string_view> networks;
  int most_accumulation = 0;
  for (const JudgedStep& step : of_kind(kind)) {
    const bool of_the_sort = sorts_[static_cast<std::size_t>(&step - steps_.data())] == sort;
    if (of_the_sort) most_accumulation = std::max(most_accumulation, step.strategy.micro_batches);
    of_steps.add(step, step.step_ratio, of_the_sort);
    if (step.speedup_ratio) of_speedups.add(step, *step.speedup_ratio, of_the_sort);
    networks.insert(step.network);
    errors.longer += step.step_ratio > 1 ? 1U : 0U;
  }
  errors.steps = of_steps.all.size();
  errors.networks = networks.size();
  const std::optional<LearnedWidth> width = of_steps.width();
  if (!width || strategy.micro_batches > most_accumulation) return std::nullopt;
  errors.step = *width;
  errors.speedup = of_speedups.width();
  return errors;
}

std::vector<std::pair<StepKind, std::size_t>> Learned::kinds() const {
  std::vector<std::pair<StepKind, std::size_t>> result;
  for (std::span<const JudgedStep> rest = steps_; !rest.empty();) {
    const std::size_t steps = of_kind(rest.front().kind).size();
    if (conformal_rank(steps, kIntervalCoverage)) result.emplace_back(rest.front().kind, steps);
    rest = rest.subspan(steps);
  }
  return result;
}

}  // namespace ddpx
