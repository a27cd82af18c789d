#include "calibration/fit_host.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibration/least_squares.hpp"
#include "calibration/timed_steps.hpp"
#include "model/blocks.hpp"
#include "model/buckets.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

constexpr double kHostFloor = 0.08;  // a fresh process moves its host by as much

// What PyTorch's autocast takes of the host for each tensor beside what a step without it takes,
// and one standard error: bf16 and fp32 steps of 5, 14 and 36 layers in turns, on the host of one
// H200: 39 to 54 us a tensor where a tensor takes 78 without (by the slopes over depth 0.7).
constexpr double kAutocastShare = 0.6;
constexpr double kAutocastError = 0.25;

constexpr double kFloor = 0.05;  // a fresh process moves host costs by some per cent

bool same_work(const StepSample& a, const StepSample& b) {
  return a.network == b.network && a.batch == b.batch && a.dtype == b.dtype &&
         a.optimizer == b.optimizer && a.engine == b.engine;
}

double median_step(const StepSample& sample) { return summarise(sample.seconds, 0).median; }

// The step of the same network on one GPU.
std::optional<double> alone(const Measurements& measurements, const StepSample& sample) {
  for (const StepSample& other : measurements.steps) {
    if (other.gpus == 1 && other.micro_batches == 1 && other.clocks == Clocks::burst &&
        same_work(other, sample))
      return median_step(other);
  }
  return std::nullopt;
}

// Tensors that autocast casts.
double autocast_tensors(const StepSample& sample, double tensors) {
  return is_half(sample.dtype) ? tensors : 0;
}

// Tensors that AdamW updates.
double adamw_tensors(const StepSample& sample, double tensors) {
  return sample.optimizer == Optimizer::adamw ? tensors : 0;
}

double bucket_count(const Network& network, const Strategy& strategy) {
  std::vector<Bytes> arrival;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    for (const double elements : layer->tensors) arrival.emplace_back(kGradientBytes * elements);
  }
  std::vector<Bucket> buckets;
  assign_buckets(arrival, strategy.buckets, buckets);
  return static_cast<double>(buckets.size());
}

// All-gathers and reduce-scatters of a step by block: each block's twice (once where it stays
// gathered) and once, the root's once each.
double collective_count(const Network& network, const Strategy& strategy) {
  const Blocks blocks = blocks_of(network);
  return static_cast<double>(blocks.list.size()) * (strategy.reshard ? 3 : 2) +
         (blocks.root_tensors > 0 ? 2 : 0);
}

struct Samples {
  std::vector<double> extra;
  std::vector<CountedRow> plain;   // of one step, tensors, buckets
  std::vector<CountedRow> hooked;  // the same
  std::vector<double> fsdp;
  std::vector<CountedRow> by_block;  // collectives beyond two, tensors, of AdamW, one step
};

Samples samples_of(const Measurements& measurements, Engine engine, const FitOptions& options) {
  Samples samples;
  const auto each = [&](auto&& take) {
    for (const StepSample& sample : measurements.steps) {
      if (sample.engine != engine || sample.clocks != Clocks::burst) continue;
      const std::optional<double> one = alone(measurements, sample);
      if (one) take(sample, *one);
    }
  };
  each([&](const StepSample& sample, double one) {
    const int k = sample.micro_batches;
    if (sample.gpus == 1 && k > 1)
      samples.extra.push_back((median_step(sample) - k * one) / (k - 1));
  });
  const double extra = samples.extra.empty() ? 0 : summarise(samples.extra, 0).median;
  each([&](const StepSample& sample, double one) {
    if (sample.gpus == 1 || !sample.strategy.sync) return;
    const int k = sample.micro_batches;
    const Network network = network_of(sample, options.place);
    const double tensors = static_cast<double>(network.tensor_count());
    const double excess = median_step(sample) - k * one - (k - 1) * extra;
    if (sample.strategy.sharding == Sharding::fsdp_block) {
      if (k == 1 && has_blocks(network)) {
        const double further = collective_count(network, sample.strategy) - 2;
        samples.by_block.push_back(
            {{further, tensors, adamw_tensors(sample, tensors), 1}, excess, median_step(sample)});
      }
    } else if (sample.strategy.sharding != Sharding::none) {
      if (k == 1) samples.fsdp.push_back(excess);
    } else {
      const double buckets = bucket_count(network, sample.strategy);
      (sample.strategy.compression ? samples.hooked : samples.plain)
          .push_back({{1, tensors, buckets}, excess, median_step(sample)});
    }
  });
  return samples;
}

Estimate<Seconds> estimate(double seconds, double relative_error, std::size_t count) {
  return {Seconds(std::max(0.0, seconds)), std::max(kFloor, relative_error),
          "fitted on " + std::to_string(count) + " host-bound steps"};
}

Estimate<Seconds> estimate(const std::vector<double>& seconds) {
  const SampleSummary summary = summarise(seconds, 0);
  return estimate(summary.median, std::abs(summary.relative_error), seconds.size());
}

Estimate<Seconds> estimate(const CountedCosts& fit, std::size_t which, std::size_t count) {
  const double cost = fit.each[which];
  return estimate(cost, cost > 0 ? fit.errors[which] / cost : 0, count);
}

// A cost that is there only where rows show it.
std::optional<Estimate<Seconds>> found(const CountedCosts& fit, std::size_t which,
                                       std::size_t count) {
  if (!(fit.each[which] > 0)) return std::nullopt;
  return estimate(fit, which, count);
}

void fit_engine(const Samples& samples, HostCosts& costs) {
  if (!samples.extra.empty()) costs.extra_micro_batch = estimate(samples.extra);
  if (!samples.fsdp.empty()) costs.fsdp = estimate(samples.fsdp);
  if (const std::size_t n = samples.by_block.size(); n > 0) {
    const CountedCosts fit = counted_costs(samples.by_block);
    costs.fsdp_launch = estimate(fit, 0, n);
    costs.fsdp_per_tensor = found(fit, 1, n);
    const bool adamw = std::any_of(samples.by_block.begin(), samples.by_block.end(),
                                   [](const CountedRow& row) { return row.counts[2] > 0; });
    if (adamw) costs.fsdp_adamw_per_tensor = found(fit, 2, n);
    costs.fsdp_block = estimate(fit, 3, n);
  }
  if (samples.plain.empty()) return;
  const std::size_t n = samples.plain.size();
  const CountedCosts fit = counted_costs(samples.plain);
  costs.sync = found(fit, 0, n);
  costs.sync_per_tensor = estimate(fit, 1, n);
  costs.per_bucket = estimate(fit, 2, n);
  if (samples.hooked.empty()) return;
  std::vector<CountedRow> hooks;
  hooks.reserve(samples.hooked.size());
  for (const CountedRow& row : samples.hooked)
    hooks.push_back({{row.counts[2], 1}, row.value - fit.of(row), row.scale});
  const CountedCosts hook = counted_costs(hooks);
  costs.hook_per_bucket = estimate(hook, 0, hooks.size());
  costs.hook = found(hook, 1, hooks.size());
}

}  // namespace

void fit_host(std::span<const TimedStep> steps, Machine& machine, FitReport& report) {
  for (Engine engine : {Engine::torch, Engine::native}) {
    std::vector<CountedRow> rows;
    std::vector<double> per_tensor;
    double squares = 0;
    const auto taken = [&](const TimedStep& step) {
      return step.sample->engine == engine && !step.device_bound && step.flops > 0 &&
             step.network.name.starts_with("mlp:");
    };
    for (const TimedStep& step : steps) {
      if (!taken(step) || step.sample->micro_batches > 1) continue;
      const double tensors = static_cast<double>(step.network.tensor_count());
      rows.push_back({{tensors, 1, adamw_tensors(*step.sample, tensors),
                       autocast_tensors(*step.sample, tensors)},
                      step.time.median,
                      step.time.median});
      per_tensor.push_back(step.time.median / tensors);
      squares += step.time.deviation * step.time.deviation;
    }
    if (rows.empty()) continue;
    CountedCosts fit = counted_costs(rows);
    const std::string origin =
        "fitted on " + std::to_string(rows.size()) + " host-bound one-GPU steps";
    HostCosts& costs =
        machine.host.at(static_cast<std::size_t>(engine))
            .emplace(machine.host_costs(engine) ? *machine.host_costs(engine) : HostCosts{});
    const auto estimate = [&](std::size_t which) {
      return Estimate<Seconds>{Seconds(fit.each[which]), fit.errors[which] / fit.each[which],
                               origin};
    };
    if (fit.each[1] > 0 && fit.each[0] > 0) {
      costs.step = estimate(1);
      costs.step_per_tensor = estimate(0);
      if (fit.each[2] > 0) costs.adamw_per_tensor = estimate(2);
      if (fit.each[3] > 0) costs.autocast_per_tensor = estimate(3);
      const double within = std::sqrt(squares / static_cast<double>(rows.size()));
      costs.spread = std::max(kHostFloor, std::hypot(fit.residual, within));
    } else {  // one depth, or steps that a constant alone would explain as well
      const SampleSummary cost = summarise(per_tensor, kHostFloor);
      fit.each = {cost.median, 0, 0, 0};
      costs.step_per_tensor = {Seconds(cost.median), cost.relative_error, origin};
    }
    if (engine == Engine::torch && machine.device.multiprocessors > 0 && !costs.autocast_per_tensor)
      costs.autocast_per_tensor = {kAutocastShare * costs.step_per_tensor.value, kAutocastError,
                                   "prior: of the host's cost per tensor, as on one H200"};
    for (const TimedStep& step : steps) {
      if (!taken(step)) continue;
      const double tensors = static_cast<double>(step.network.tensor_count());
      const double fitted = step.sample->micro_batches *
                                fit.of({{tensors, 1, 0, autocast_tensors(*step.sample, tensors)}}) +
                            fit.each[2] * adamw_tensors(*step.sample, tensors);
      report.residuals.push_back(
          {describe(*step.sample) + " (host-bound)", step.time.median, fitted, false, ""});
    }
  }
}

void fit_shared_host(const Measurements& measurements, Machine& machine, FitReport& report,
                     const FitOptions& options) {
  for (const Engine engine : {Engine::native, Engine::torch}) {
    std::optional<HostCosts>& costs = machine.host.at(static_cast<std::size_t>(engine));
    if (!costs) continue;
    fit_engine(samples_of(measurements, engine, options), *costs);
    for (const StepSample& sample : measurements.steps) {
      if (sample.engine != engine || sample.gpus == 1) continue;
      const std::optional<double> one = alone(measurements, sample);
      if (one) continue;
      report.notes.push_back("a step of " + sample.network + " on " + std::to_string(sample.gpus) +
                             " ranks has no step alone beside it and was not used");
    }
  }
}

}  // namespace ddpx
