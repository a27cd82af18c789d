// bf16 products on real devices: against the mock device, which rounds where they round, and N
// ranks against one. A device that has none says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/error.hpp"
#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using engine::difference;
using engine::kRate;
using engine::kSteps;
using engine::native_job;
using engine::small_network;
using engine::train;
using engine::Trained;
using engine::with;

class Autocast : public testing::Test {
 protected:
  void SetUp() override {
    if (!shared_device().supports(DType::bf16)) GTEST_SKIP() << "this device has no bf16 products";
  }
};

// Of one step that shares nothing.
std::vector<float> gradients_on(engine::Device& device) {
  Strategy off;
  off.sync = false;
  engine::Trainer trainer(device, small_network(),
                          with(native_job(device.ranks(), 32, off), DType::bf16), kRate);
  engine::DeviceBatches batches(device, trainer.layout(), trainer.rows(), 1);
  trainer.set_parameters(engine::initial_parameters(trainer.layout(), 7));
  batches.load(device, 0, samples(trainer.layout(), 8, 0, trainer.rows()));
  trainer.step(batches.all());
  return trainer.gradients();
}

// Sums differ in the last place of fp32, which seldom changes what they are rounded to.
TEST_F(Autocast, gradients_are_those_of_a_reference_that_rounds_alike) {
  engine::MockDevice mock;
  const std::vector<float> here = gradients_on(shared_device());
  const std::vector<float> reference = gradients_on(mock);
  ASSERT_EQ(here.size(), reference.size());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < here.size(); ++i) equal += here[i] == reference[i] ? 1 : 0;
  EXPECT_GT(static_cast<double>(equal), 0.9 * static_cast<double>(here.size()));
  EXPECT_LT(difference(here, reference), std::exp2(-7));
}

TEST_F(Autocast, ranks_together_give_nearly_the_weights_of_one_rank_with_all_their_samples) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  for (Strategy strategy : engine::synchronised_strategies()) {
    for (const int k : {1, 3}) {
      strategy.micro_batches = k;
      const Job job = with(native_job(ranks, 6, strategy), DType::bf16);
      const Trained together = train(device, small_network(), job, kSteps);
      engine::MockDevice mock;
      const Job whole = with(native_job(1, 6 * k * ranks), DType::bf16);
      const Trained alone = train(mock, small_network(), whole, kSteps);
      // Every rank's and micro-batch's gradient is rounded to eight bits before they are added,
      // and a tenth of it reaches the weights.
      EXPECT_LT(difference(together.parameters, alone.parameters), 2e-3)
          << describe(strategy) << " on " << ranks;
      for (const auto& other : from_all_ranks(together.parameters))
        EXPECT_EQ(other, together.parameters) << describe(strategy);
    }
  }
}

TEST_F(Autocast, it_is_not_fp32) {
  engine::Device& device = shared_device();
  const Job job = native_job(device.ranks(), 16);
  const Trained rounded = train(device, small_network(), with(job, DType::bf16), kSteps);
  const Trained exact = train(device, small_network(), job, kSteps);
  EXPECT_GT(difference(rounded.parameters, exact.parameters), 1e-5);
  EXPECT_LT(difference(rounded.parameters, exact.parameters), 5e-3);
}

TEST(AutocastRefusal, a_format_the_device_cannot_multiply_is_refused_by_name) {
  engine::Device& device = shared_device();
  for (const DType dtype : {DType::tf32, DType::bf16, DType::fp16}) {
    if (device.supports(dtype)) continue;
    try {
      const engine::Trainer trainer(device, small_network(),
                                    with(native_job(device.ranks(), 8), dtype), kRate);
      ADD_FAILURE() << name(dtype) << " was taken";
    } catch (const InputError& error) {
      const std::string what = error.what();
      EXPECT_THAT(what, testing::HasSubstr("--dtype"));
      EXPECT_THAT(what, testing::HasSubstr(std::string(name(dtype))));
      EXPECT_THAT(what, testing::HasSubstr(device.hardware().device.name));
    }
  }
}

}  // namespace
}  // namespace ddpx::test
