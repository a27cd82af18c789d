#include "calibration/fit_host.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibration/timed_steps.hpp"
#include "calibration/two_slopes.hpp"
#include "model/blocks.hpp"
#include "model/buckets.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

constexpr double kFloor = 0.05;  // a fresh process moves host costs by some per cent

bool same_work(const StepSample& a, const StepSample& b) {
  return a.network == b.network && a.batch == b.batch && a.dtype == b.dtype &&
         a.optimizer == b.optimizer && a.engine == b.engine;
}

double median(const StepSample& sample) { return summarise(sample.seconds, 0).median; }

// The step of the same network on one GPU.
std::optional<double> alone(const Measurements& measurements, const StepSample& sample) {
  for (const StepSample& other : measurements.steps) {
    if (other.gpus == 1 && other.micro_batches == 1 && other.clocks == Clocks::burst &&
        same_work(other, sample))
      return median(other);
  }
  return std::nullopt;
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

// One shared step: what it takes longer than the same work alone.
struct Shared {
  double tensors = 0;
  double buckets = 0;
  double excess = 0;
  double time = 0;
};

struct Samples {
  std::vector<double> extra;
  std::vector<Shared> plain;
  std::vector<Shared> hooked;
  std::vector<double> fsdp;
  struct ByBlock {
    double collectives = 0;
    double excess = 0;
  };
  std::vector<ByBlock> by_block;
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
    if (sample.gpus == 1 && k > 1) samples.extra.push_back((median(sample) - k * one) / (k - 1));
  });
  const double extra = samples.extra.empty() ? 0 : summarise(samples.extra, 0).median;
  each([&](const StepSample& sample, double one) {
    if (sample.gpus == 1 || !sample.strategy.sync) return;
    const int k = sample.micro_batches;
    const Network network = network_of(sample, options.place);
    const Shared shared{static_cast<double>(network.tensor_count()),
                        bucket_count(network, sample.strategy),
                        median(sample) - k * one - (k - 1) * extra, median(sample)};
    if (sample.strategy.sharding == Sharding::fsdp_block) {
      if (k == 1 && has_blocks(network))
        samples.by_block.push_back({collective_count(network, sample.strategy), shared.excess});
    } else if (sample.strategy.sharding != Sharding::none) {
      if (k == 1) samples.fsdp.push_back(shared.excess);
    } else if (sample.strategy.compression) {
      samples.hooked.push_back(shared);
    } else {
      samples.plain.push_back(shared);
    }
  });
  return samples;
}

// tensor x tensors + bucket x buckets = excess, each row by its step's time.
std::vector<SlopeRow> slope_rows(const std::vector<Shared>& shared) {
  std::vector<SlopeRow> rows;
  rows.reserve(shared.size());
  for (const Shared& row : shared) rows.push_back({row.tensors, row.buckets, row.excess, row.time});
  return rows;
}

// Root mean square of what the slopes leave, relative to the step.
double residual_of(const std::vector<SlopeRow>& rows, const TwoSlopes& slopes) {
  double squares = 0;
  for (const SlopeRow& row : rows) {
    const double left = (row.value - slopes.of(row)) / row.scale;
    squares += left * left;
  }
  return std::sqrt(squares / static_cast<double>(rows.size()));
}

Estimate<Seconds> estimate(double seconds, double relative_error, std::size_t count) {
  return {Seconds(std::max(0.0, seconds)), std::max(kFloor, relative_error),
          "fitted on " + std::to_string(count) + " host-bound steps"};
}

// How sure a constant is whose share of the steps is `share`.
double error_of(double residual, double share) { return share > 0 ? residual / share : 1.0; }

void fit_engine(const Samples& samples, HostCosts& costs) {
  if (!samples.extra.empty()) {
    const SampleSummary extra = summarise(samples.extra, 0);
    costs.extra_micro_batch =
        estimate(extra.median, std::abs(extra.relative_error), samples.extra.size());
  }
  if (!samples.fsdp.empty()) {
    const SampleSummary fsdp = summarise(samples.fsdp, 0);
    costs.fsdp = estimate(fsdp.median, std::abs(fsdp.relative_error), samples.fsdp.size());
  }
  std::vector<double> launches;
  for (const Samples::ByBlock& row : samples.by_block) {
    const double further = row.collectives - 2;
    if (further > 0) launches.push_back((row.excess - costs.fsdp.value.value()) / further);
  }
  if (!launches.empty()) {
    const SampleSummary launch = summarise(launches, 0);
    costs.fsdp_launch = estimate(launch.median, std::abs(launch.relative_error), launches.size());
  }
  if (samples.plain.empty()) return;
  const std::vector<SlopeRow> rows = slope_rows(samples.plain);
  const TwoSlopes fit = two_slopes(rows);
  const double residual = residual_of(rows, fit);
  const auto share = [&](double per, double Shared::*count) {
    double sum = 0;
    for (const Shared& row : samples.plain) sum += per * (row.*count) / row.time;
    return sum / static_cast<double>(samples.plain.size());
  };
  const std::size_t n = samples.plain.size();
  costs.sync_per_tensor =
      estimate(fit.first, error_of(residual, share(fit.first, &Shared::tensors)), n);
  costs.per_bucket =
      estimate(fit.second, error_of(residual, share(fit.second, &Shared::buckets)), n);
  std::vector<double> hooks;
  for (const Shared& row : samples.hooked)
    hooks.push_back((row.excess - fit.first * row.tensors - fit.second * row.buckets) /
                    row.buckets);
  if (hooks.empty()) return;
  const SampleSummary hook = summarise(hooks, 0);
  costs.hook_per_bucket = estimate(hook.median, std::abs(hook.relative_error), hooks.size());
}

}  // namespace

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
