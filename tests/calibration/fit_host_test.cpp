// Host costs are recovered from steps that were made of them.
#include "calibration/fit_host.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calibration/timed_steps.hpp"
#include "model/network_spec.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

constexpr double kStepPerTensor = 50e-6;
constexpr double kExtra = 200e-6;
constexpr double kSync = 20e-6;
constexpr double kBucket = 120e-6;
constexpr double kHook = 90e-6;
constexpr double kFsdp = 3e-3;
constexpr double kFsdpLaunch = 70e-6;
constexpr double kSyncStep = 400e-6;
constexpr double kHookStep = 250e-6;
constexpr double kFsdpBlock = 900e-6;
constexpr double kFsdpTensor = 35e-6;

double buckets_of(const std::string& network, const Strategy& strategy) {
  std::vector<Bytes> arrival;
  const Network made = network_from(network);
  for (auto layer = made.layers.rbegin(); layer != made.layers.rend(); ++layer)
    for (const double elements : layer->tensors) arrival.emplace_back(4 * elements);
  std::vector<Bucket> buckets;
  assign_buckets(arrival, strategy.buckets, buckets);
  return static_cast<double>(buckets.size());
}

// What the costs above add up to. By block a step has costs of its own where `apart`.
StepSample sample(const std::string& network, const std::string& words, int gpus,
                  bool apart = false) {
  StepSample step;
  step.network = network;
  step.batch = 8;
  step.gpus = gpus;
  step.strategy = parse_strategy(words);
  step.micro_batches = step.strategy.micro_batches;
  const double tensors = static_cast<double>(network_from(network).tensor_count());
  double seconds =
      step.micro_batches * tensors * kStepPerTensor + (step.micro_batches - 1) * kExtra;
  if (gpus > 1 && step.strategy.sharding == Sharding::fsdp_block) {
    // Every layer of the MLP is a block, gathered twice and scattered once; there is no root. A
    // GPT's blocks have twelve tensors each, and its root is gathered and scattered once.
    const bool gpt = network.starts_with("gpt");
    const double blocks = gpt ? (tensors - 4) / 12 : tensors / 2;
    seconds += apart ? kFsdpBlock + kFsdpTensor * tensors : kFsdp;
    seconds += kFsdpLaunch * (blocks * (step.strategy.reshard ? 3 : 2) + (gpt ? 2 : 0) - 2);
  } else if (gpus > 1 && step.strategy.sharding != Sharding::none) {
    seconds += kFsdp;
  } else if (gpus > 1) {
    const double buckets = buckets_of(network, step.strategy);
    seconds += (apart ? kSyncStep : 0) + (apart && step.strategy.compression ? kHookStep : 0);
    seconds += tensors * kSync + buckets * (kBucket + (step.strategy.compression ? kHook : 0));
  }
  step.seconds = {seconds};
  return step;
}

Measurements measurements() {
  Measurements m;
  m.name = "host";
  for (const int depth : {4, 12, 32}) {
    const std::string network = "mlp:width=64,depth=" + std::to_string(depth);
    for (const char* words : {"ddp", "ddp,accumulate=4"})
      m.steps.push_back(sample(network, words, 1));
    for (const char* words :
         {"ddp", "ddp,bucket=17KiB", "ddp,bucket=70KiB", "ddp,accumulate=4",
          "ddp,compress=fp16,bucket=70KiB", "fsdp=unit", "fsdp=block", "fsdp=block,reshard=no"})
      m.steps.push_back(sample(network, words, 2));
  }
  return m;
}

Machine machine() {
  Machine machine;
  HostCosts costs;
  costs.step_per_tensor = {Seconds(kStepPerTensor), 0.05, "fitted"};
  costs.sync_per_tensor = {Seconds(1), 0.15, "prior: another host"};
  machine.host.at(static_cast<std::size_t>(Engine::torch)) = costs;
  return machine;
}

TEST(FitHost, recovers_what_sharing_costs_from_steps_that_nothing_else_bounds) {
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(measurements(), fitted, report);
  const HostCosts& costs = *fitted.host_costs(Engine::torch);
  EXPECT_NEAR(costs.extra_micro_batch.value.value(), kExtra, 1e-9);
  EXPECT_NEAR(costs.sync_per_tensor.value.value(), kSync, 1e-9);
  EXPECT_NEAR(costs.per_bucket.value.value(), kBucket, 1e-9);
  EXPECT_NEAR(costs.hook_per_bucket.value.value(), kHook, 1e-9);
  EXPECT_NEAR(costs.fsdp.value.value(), kFsdp, 1e-9);
  ASSERT_TRUE(costs.fsdp_launch);
  EXPECT_NEAR(costs.fsdp_launch->value.value(), kFsdpLaunch, 1e-9);
  EXPECT_EQ(costs.sync_per_tensor.origin, "fitted on 12 host-bound steps");
  EXPECT_TRUE(report.notes.empty());
}

// Of bf16 steps where there are some; else a share of what a tensor costs without, with its error.
TEST(FitHost, tells_what_autocast_costs_or_borrows_it_for_pytorch_on_a_gpu) {
  constexpr double kAutocast = 35e-6;
  Measurements m;
  for (const int depth : {4, 12, 32}) {
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      StepSample step = sample("mlp:width=64,depth=" + std::to_string(depth), "ddp", 1);
      const double tensors = static_cast<double>(network_from(step.network).tensor_count());
      step.dtype = dtype;
      step.seconds = {200e-6 + tensors * (kStepPerTensor + (is_half(dtype) ? kAutocast : 0))};
      m.steps.push_back(step);
    }
  }
  const auto fitted = [](const Measurements& measurements, int multiprocessors) {
    Machine machine;
    machine.device.multiprocessors = multiprocessors;
    FitReport report;
    const std::vector<TimedStep> steps = timed_steps(measurements, {}, Clocks::burst);
    fit_host(steps, machine, report);
    return *machine.host_costs(Engine::torch);
  };
  const HostCosts costs = fitted(m, 132);
  EXPECT_NEAR(costs.step_per_tensor.value.value(), kStepPerTensor, 1e-9);
  ASSERT_TRUE(costs.autocast_per_tensor);
  EXPECT_NEAR(costs.autocast_per_tensor->value.value(), kAutocast, 1e-9);
  std::erase_if(m.steps, [](const StepSample& step) { return is_half(step.dtype); });
  const HostCosts without = fitted(m, 132);
  ASSERT_TRUE(without.autocast_per_tensor);
  EXPECT_NEAR(without.autocast_per_tensor->value.value(), 0.6 * kStepPerTensor, 1e-9);
  EXPECT_TRUE(without.autocast_per_tensor->origin.starts_with("prior"));
  EXPECT_FALSE(fitted(m, 0).autocast_per_tensor) << "a processor core has no host apart";
}

TEST(FitHost, tells_what_a_step_costs_once_from_what_tensors_buckets_and_collectives_cost) {
  Measurements m;
  for (const char* network : {"mlp:width=64,depth=4", "mlp:width=64,depth=32",
                              "gpt:layers=2,hidden=64,heads=2,sequence=8,vocabulary=32",
                              "gpt:layers=6,hidden=64,heads=2,sequence=8,vocabulary=32"}) {
    m.steps.push_back(sample(network, "ddp", 1));
    for (const char* words : {"ddp", "ddp,bucket=1KiB", "fsdp=block", "ddp,compress=fp16",
                              "ddp,compress=fp16,bucket=1KiB"})
      m.steps.push_back(sample(network, words, 2, true));
  }
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(m, fitted, report);
  const HostCosts& costs = *fitted.host_costs(Engine::torch);
  ASSERT_TRUE(costs.hook);
  EXPECT_NEAR(costs.hook->value.value(), kHookStep, 1e-9);
  EXPECT_NEAR(costs.hook_per_bucket.value.value(), kHook, 1e-9);
  ASSERT_TRUE(costs.sync && costs.fsdp_block && costs.fsdp_launch && costs.fsdp_per_tensor);
  EXPECT_NEAR(costs.sync->value.value(), kSyncStep, 1e-9);
  EXPECT_NEAR(costs.sync_per_tensor.value.value(), kSync, 1e-9);
  EXPECT_NEAR(costs.per_bucket.value.value(), kBucket, 1e-9);
  EXPECT_NEAR(costs.fsdp_block->value.value(), kFsdpBlock, 1e-9);
  EXPECT_NEAR(costs.fsdp_launch->value.value(), kFsdpLaunch, 1e-9);
  EXPECT_NEAR(costs.fsdp_per_tensor->value.value(), kFsdpTensor, 1e-9);
}

TEST(FitHost, tells_what_adamw_costs_shards_from_what_blocks_do) {
  constexpr double kAdamw = 110e-6;
  Measurements m;
  for (const char* network : {"mlp:width=64,depth=4", "mlp:width=64,depth=32",
                              "gpt:layers=2,hidden=64,heads=2,sequence=8,vocabulary=32",
                              "gpt:layers=6,hidden=64,heads=2,sequence=8,vocabulary=32"}) {
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adamw}) {
      StepSample alone = sample(network, "ddp", 1);
      StepSample shared = sample(network, "fsdp=block", 2, true);
      alone.optimizer = shared.optimizer = optimizer;
      if (optimizer == Optimizer::adamw)
        shared.seconds[0] += kAdamw * static_cast<double>(network_from(network).tensor_count());
      m.steps.push_back(alone);
      m.steps.push_back(shared);
    }
  }
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(m, fitted, report);
  const HostCosts& costs = *fitted.host_costs(Engine::torch);
  ASSERT_TRUE(costs.fsdp_adamw_per_tensor && costs.fsdp_per_tensor);
  EXPECT_NEAR(costs.fsdp_adamw_per_tensor->value.value(), kAdamw, 1e-9);
  EXPECT_NEAR(costs.fsdp_per_tensor->value.value(), kFsdpTensor, 1e-9);
}

TEST(FitHost, of_a_noisy_host_says_how_far_off_it_may_be) {
  // 7 % of noise on every sample: the true cost lies within two standard errors in most of 50 fits.
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal(0, 0.07);
  int inside = 0;
  constexpr int kFits = 50;
  for (int i = 0; i < kFits; ++i) {
    Measurements m;
    for (const int depth : {5, 14, 36}) {
      const std::string network = "mlp:width=64,depth=" + std::to_string(depth);
      m.steps.push_back(sample(network, "ddp", 1));
      for (const char* words : {"ddp", "ddp,bucket=0.2KiB", "ddp,bucket=40KiB"})
        m.steps.push_back(sample(network, words, 2, true));
    }
    for (StepSample& step : m.steps) step.seconds[0] *= 1 + normal(engine);
    Machine fitted = machine();
    FitReport report;
    fit_shared_host(m, fitted, report);
    const Estimate<Seconds>& bucket = fitted.host_costs(Engine::torch)->per_bucket;
    inside += std::abs(bucket.value.value() - kBucket) <=
              2 * bucket.relative_error * bucket.value.value();
  }
  EXPECT_GE(inside, 40) << inside << " of " << kFits;
}

TEST(FitHost, keeps_the_prior_of_what_was_not_measured) {
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(Measurements{}, fitted, report);
  EXPECT_EQ(fitted.host_costs(Engine::torch)->sync_per_tensor.value, Seconds(1));
  // Steps by block of SGD alone say nothing of AdamW.
  fitted.host.at(static_cast<std::size_t>(Engine::torch))->fsdp_adamw_per_tensor =
      Estimate<Seconds>{Seconds(2), 0.4, "prior: another sitting"};
  fit_shared_host(measurements(), fitted, report);
  EXPECT_EQ(fitted.host_costs(Engine::torch)->fsdp_adamw_per_tensor->value, Seconds(2));
}

TEST(FitHost, with_as_many_tensors_in_every_bucket_gives_all_to_the_tensors) {
  Measurements m;
  for (const int depth : {4, 8}) {  // one bucket each at this size, and twice as many tensors
    const std::string network = "mlp:width=64,depth=" + std::to_string(depth) + ",classes=1";
    m.steps.push_back(sample(network, "ddp", 1));
    m.steps.push_back(sample(network, "ddp,bucket=1KiB", 2));
  }
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(m, fitted, report);
  EXPECT_GE(fitted.host_costs(Engine::torch)->sync_per_tensor.value.value(), 0);
  EXPECT_GE(fitted.host_costs(Engine::torch)->per_bucket.value.value(), 0);
}

TEST(FitHost, a_shared_step_without_its_step_alone_is_named) {
  Measurements m;
  m.steps = {sample("mlp:width=64,depth=4", "ddp", 2)};
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(m, fitted, report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("mlp:width=64,depth=4 on 2 ranks"), std::string::npos);
}

}  // namespace
}  // namespace ddpx
