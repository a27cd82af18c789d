// Host costs are recovered from steps that were made of them.
#include "calibration/fit_host.hpp"

#include <gtest/gtest.h>

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

double buckets_of(const std::string& network, const Strategy& strategy) {
  std::vector<Bytes> arrival;
  const Network made = network_from(network);
  for (auto layer = made.layers.rbegin(); layer != made.layers.rend(); ++layer)
    for (const double elements : layer->tensors) arrival.emplace_back(4 * elements);
  std::vector<Bucket> buckets;
  assign_buckets(arrival, strategy.buckets, buckets);
  return static_cast<double>(buckets.size());
}

StepSample sample(const std::string& network, const std::string& words, int gpus) {
  StepSample step;
  step.network = network;
  step.batch = 8;
  step.gpus = gpus;
  step.strategy = parse_strategy(words);
  step.micro_batches = step.strategy.micro_batches;
  const double tensors = static_cast<double>(network_from(network).tensor_count());
  double seconds =
      step.micro_batches * tensors * kStepPerTensor + (step.micro_batches - 1) * kExtra;
  if (gpus > 1 && step.strategy.sharding != Sharding::none) {
    seconds += kFsdp;
    // Every layer of the MLP is a block, gathered twice and scattered once; there is no root.
    if (step.strategy.sharding == Sharding::fsdp_block)
      seconds += kFsdpLaunch * (tensors / 2 * (step.strategy.reshard ? 3 : 2) - 2);
  } else if (gpus > 1) {
    const double buckets = buckets_of(network, step.strategy);
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

TEST(FitHost, keeps_the_prior_of_what_was_not_measured) {
  Machine fitted = machine();
  FitReport report;
  fit_shared_host(Measurements{}, fitted, report);
  EXPECT_EQ(fitted.host_costs(Engine::torch)->sync_per_tensor.value, Seconds(1));
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
