// A forecast as a plan: how long a run takes on it, how long a target, and what either costs.
//
//   run     the same samples whatever the batch (epochs are fixed), in whole steps
//   target  the same quality: a larger global batch needs more samples (target.hpp)
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/forecast.hpp"
#include "model/price.hpp"
#include "model/target.hpp"

namespace ddpx {

struct PlanQuestion {
  std::optional<double> samples;  // of the run, or of the target on one GPU with plain steps
  std::optional<CriticalBatch> critical;
  std::optional<double> learning_rate;  // at one GPU's batch
  // One GPU's batch at which samples to a target and the rate are known, where plans of several are
  // compared; nullopt: each plan's own.
  std::optional<double> one_gpu_batch;
  RateRule rule = RateRule::linear;
  std::optional<Prices> prices;
  std::optional<Seconds> deadline;

  [[nodiscard]] bool asked() const { return samples || critical || learning_rate || prices; }
};

struct Plan {
  double one_gpu_batch = 0;  // of one GPU's plain step: what the samples are known at
  double global_batch = 0;
  bool fits = true;  // in the GPU's memory, as far as that is known
  double rate_factor = 1;
  std::optional<double> learning_rate;
  Rent rent;  // in GPU-hours where there is no price
  std::optional<Interval> cost_per_million;
  std::optional<Interval> run_s;
  std::optional<Interval> run_cost;
  std::optional<Interval> samples_ratio;   // to the target, over one GPU's
  std::optional<Interval> target_speedup;  // one GPU's time to the target over this plan's
  std::optional<Verdict> target_verdict;
  std::optional<Interval> target_samples;
  std::optional<Interval> target_steps;
  std::optional<Interval> target_s;
  std::optional<Interval> target_cost;

  // What the deadline holds for: the target where it is asked for, else the run.
  [[nodiscard]] const std::optional<Interval>& time() const { return target_s ? target_s : run_s; }
  [[nodiscard]] const std::optional<Interval>& cost() const {
    return target_s ? target_cost : run_cost;
  }
};

[[nodiscard]] Plan plan_of(const PlanQuestion& question, const Forecast& forecast, const Job& job,
                           const NodeLayout& layout, const std::string& link);

struct Choice {
  std::size_t plan = 0;
  bool certain = true;  // the whole interval meets the deadline
};

// The cheapest plan that fits and meets the deadline with its whole interval; where none does, the
// cheapest whose point forecast does; nullopt where none does either. Without a deadline, the
// cheapest that fits.
[[nodiscard]] std::optional<Choice> cheapest(std::span<const Plan> plans,
                                             std::optional<Seconds> deadline);

}  // namespace ddpx
