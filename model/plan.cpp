#include "model/plan.hpp"

#include <cmath>

namespace ddpx {
namespace {

Interval scaled(const Interval& a, double factor) {
  return {a.value * factor, a.low * factor, a.high * factor};
}

// Of positive quantities; widest ends, for what moves one is not what moves the other.
Interval over(const Interval& a, const Interval& b) {
  return {a.value / b.value, a.low / b.high, a.high / b.low};
}

// As many steps as the samples need: the last one is no shorter for having fewer of them.
Interval whole_steps(const Interval& samples, double batch) {
  constexpr double kRounding = 1 - 1e-12;  // no step for what a quotient of doubles is off by
  const auto steps = [&](double count) { return std::ceil(count / batch * kRounding); };
  return {steps(samples.value), steps(samples.low), steps(samples.high)};
}

}  // namespace

Plan plan_of(const PlanQuestion& question, const Forecast& forecast, const Job& job,
             const NodeLayout& layout, const std::string& link) {
  Plan plan;
  const double own_batch = job.one_gpu().samples_per_step();
  plan.one_gpu_batch = question.one_gpu_batch.value_or(own_batch);
  plan.global_batch = job.samples_per_step();
  plan.rate_factor = rate_factor(question.rule, plan.one_gpu_batch, plan.global_batch);
  if (question.learning_rate) plan.learning_rate = *question.learning_rate * plan.rate_factor;
  plan.rent = question.prices ? rent(*question.prices, layout, link)
                              : Rent{static_cast<double>(layout.gpus()), ""};
  const Interval& rate = forecast.samples_per_s;
  const auto seconds = [&](const Interval& samples) { return over(samples, rate); };
  const auto of_steps = [&](const Interval& steps) {
    return seconds(scaled(steps, plan.global_batch));
  };
  const auto cost = [&](const Interval& time) {
    return scaled(time, cost_of(1, 1, plan.rent.per_hour));
  };
  if (question.prices) plan.cost_per_million = cost(seconds({1e6, 1e6, 1e6}));
  if (question.samples) {
    const Interval samples{*question.samples, *question.samples, *question.samples};
    plan.run_s = of_steps(whole_steps(samples, plan.global_batch));
    plan.run_cost = cost(*plan.run_s);
  }
  if (!question.critical) return plan;
  plan.samples_ratio = samples_ratio(plan.one_gpu_batch, plan.global_batch, *question.critical);
  // Over one GPU at the same batch: whether more GPUs pay is no question of the batch.
  plan.target_speedup =
      over(forecast.speedup, samples_ratio(own_batch, plan.global_batch, *question.critical));
  if (job.gpus > 1) plan.target_verdict = verdict_of(*plan.target_speedup);
  if (!question.samples) return plan;
  plan.target_samples = scaled(*plan.samples_ratio, *question.samples);
  plan.target_steps = whole_steps(*plan.target_samples, plan.global_batch);
  plan.target_s = of_steps(*plan.target_steps);
  plan.target_cost = cost(*plan.target_s);
  return plan;
}

std::optional<Choice> cheapest(std::span<const Plan> plans, std::optional<Seconds> deadline) {
  const auto best = [&](double Interval::*bound) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Plan& plan = plans[i];
      if (!plan.fits || !plan.time()) continue;
      if (deadline && (*plan.time()).*bound > deadline->value()) continue;
      if (!found || plan.cost()->value < plans[*found].cost()->value) found = i;
    }
    return found;
  };
  if (const auto certain = best(&Interval::high)) return Choice{*certain, true};
  if (const auto point = best(&Interval::value)) return Choice{*point, false};
  return std::nullopt;
}

}  // namespace ddpx
