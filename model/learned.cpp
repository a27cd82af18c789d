#include "model/learned.hpp"

#include <algorithm>
#include <cmath>
#include <map>

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

// Of `steps` steps of one kind; nullopt where they are too few.
std::optional<LearnedErrors> errors_of_kind(const StepKind& kind,
                                            std::span<const JudgedStep* const> steps) {
  LearnedErrors errors{kind, steps.size(), 0, {}, {}, {}};
  std::vector<double> of_steps;
  std::vector<double> of_speedups;
  std::vector<Miss> misses;
  for (const JudgedStep* step : steps) {
    of_steps.push_back(step->step_ratio - 1);
    if (step->speedup_ratio) of_speedups.push_back(*step->speedup_ratio - 1);
    misses.push_back({step->network, std::abs(step->step_ratio - 1)});
    errors.families.push_back(step->family);
  }
  const std::optional<double> half_width = conformal_half_width(of_steps, kIntervalCoverage);
  if (!half_width) return std::nullopt;
  errors.step = *half_width;
  errors.speedup = conformal_half_width(of_speedups, kIntervalCoverage);
  errors.coverage = coverage_leaving_networks_out(misses);
  std::sort(errors.families.begin(), errors.families.end());
  errors.families.erase(std::unique(errors.families.begin(), errors.families.end()),
                        errors.families.end());
  return errors;
}

}  // namespace

std::string_view name(Regime regime) {
  return regime == Regime::gpu_bound ? "gpu_bound" : "host_bound";
}

std::string family_of(const Strategy& strategy) {
  if (!strategy.sync) return "no-sync";
  if (strategy.hybrid) return "hsdp";
  if (strategy.sharding == Sharding::fsdp_unit || strategy.sharding == Sharding::fsdp_block)
    return "fsdp";
  if (strategy.sharding != Sharding::none) return "zero";
  if (strategy.compression) return "compression";
  if (strategy.micro_batches > 1) return "accumulation";
  const BucketLimits usual;
  return strategy.buckets.rest == usual.rest ? "ddp" : "bucket";
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

Learned::Learned(std::span<const JudgedStep> steps) {
  std::map<StepKind, std::vector<const JudgedStep*>> kinds;
  for (const JudgedStep& step : steps) kinds[step.kind].push_back(&step);
  for (const auto& [kind, its] : kinds) {
    if (auto errors = errors_of_kind(kind, its)) kinds_.push_back(std::move(*errors));
  }
}

const LearnedErrors* Learned::errors_of(const StepKind& kind, const Strategy& strategy) const {
  const auto found = std::lower_bound(
      kinds_.begin(), kinds_.end(), kind,
      [](const LearnedErrors& errors, const StepKind& k) { return errors.kind < k; });
  if (found == kinds_.end() || found->kind != kind) return nullptr;
  const std::string family = family_of(strategy);
  const auto& seen = found->families;
  return std::find(seen.begin(), seen.end(), family) == seen.end() ? nullptr : &*found;
}

}  // namespace ddpx
