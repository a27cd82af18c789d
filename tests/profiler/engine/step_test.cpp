#include "profiler/engine/step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.hpp"
#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"

namespace ddpx::engine {
namespace {

Strategy accumulate(int k) {
  Strategy strategy;
  strategy.micro_batches = k;
  return strategy;
}

Strategy small_buckets() {
  Strategy strategy;
  strategy.buckets = {Bytes(500), Bytes(2000)};
  return strategy;
}

Strategy bucket_view() {
  Strategy strategy = small_buckets();
  strategy.bucket_view = true;
  return strategy;
}

TEST(Step, gradients_agree_with_finite_differences) {
  const Network network = mlp({.width = 4, .depth = 2, .classes = 3});
  MockDevice device;
  Trainer trainer(device, network, native_job(1, 6), 0.0F);
  const Layout& layout = trainer.layout();
  DeviceBatches batches(device, layout, 6, 1);
  batches.load(device, 0, samples(layout, 11, 0, 6));
  std::vector<float> parameters = initial_parameters(layout, 12);
  const auto loss_with = [&](std::size_t i, float shift) {
    std::vector<float> moved = parameters;
    moved[i] += shift;
    trainer.set_parameters(moved);
    trainer.step(batches.all());
    return trainer.loss();
  };
  trainer.set_parameters(parameters);
  trainer.step(batches.all());
  const std::vector<float> gradients = trainer.gradients();
  ASSERT_EQ(gradients.size(), parameters.size());
  constexpr float kShift = 1e-3F;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double slope = (loss_with(i, kShift) - loss_with(i, -kShift)) / (2.0 * double{kShift});
    // fp32 rounds the loss at 6e-8, which the division makes 6e-5.
    EXPECT_NEAR(gradients[i], slope, 2e-4) << "parameter " << i;
  }
}

TEST(Step, sgd_moves_every_parameter_against_its_gradient) {
  MockDevice device;
  Trainer trainer(device, small_network(), native_job(1, 4), 0.5F);
  DeviceBatches batches(device, trainer.layout(), 4, 1);
  batches.load(device, 0, samples(trainer.layout(), 1, 0, 4));
  const std::vector<float> before = initial_parameters(trainer.layout(), 2);
  trainer.set_parameters(before);
  trainer.step(batches.all());
  const std::vector<float> gradients = trainer.gradients();
  const std::vector<float> after = trainer.parameters();
  for (std::size_t i = 0; i < before.size(); ++i)
    ASSERT_FLOAT_EQ(after[i], before[i] - 0.5F * gradients[i]) << i;
}

// Bias correction makes the first update the gradient's sign times the rate, beside the decay.
TEST(Step, adamw_first_moves_every_parameter_by_the_rate_against_its_gradients_sign) {
  MockDevice device;
  Trainer trainer(device, small_network(), with(native_job(1, 4), Optimizer::adamw), 1e-2F);
  DeviceBatches batches(device, trainer.layout(), 4, 1);
  batches.load(device, 0, samples(trainer.layout(), 1, 0, 4));
  const std::vector<float> before = initial_parameters(trainer.layout(), 2);
  trainer.set_parameters(before);
  trainer.step(batches.all());
  const std::vector<float> gradients = trainer.gradients();
  const std::vector<float> after = trainer.parameters();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (gradients[i] != 0 && std::abs(gradients[i]) < 1e-5F) continue;  // epsilon would show
    const float sign = gradients[i] == 0 ? 0 : std::copysign(1.0F, gradients[i]);
    ASSERT_NEAR(after[i], before[i] * (1 - 1e-4F) - 1e-2F * sign, 2e-5) << i;
  }
}

TEST(Step, bf16_casts_each_layers_weights_and_gradients_once_and_keeps_the_rest_in_bf16) {
  MockDevice device;
  Trainer trainer(device, mlp({.width = 4, .depth = 1, .classes = 3}),
                  with(native_job(1, 2, accumulate(2)), DType::bf16), kRate);
  DeviceBatches batches(device, trainer.layout(), 2, 2);
  device.log.clear();
  trainer.step(batches.all());
  std::vector<std::string> casts;
  for (const std::string& call : device.log) {
    if (call.starts_with("cast") || call.starts_with("add ")) casts.push_back(call);
  }
  // Inputs, 4x4+4 weights, 4x3+3 weights; then gradients of the head and of the first layer.
  EXPECT_THAT(casts, testing::ElementsAre("cast 8", "cast 20", "cast 15", "cast 15", "cast 20",
                                          "cast 8", "cast 20", "cast 15",  //
                                          "cast 15", "add 3", "add 12",    //
                                          "cast 20", "add 4", "add 16"));
}

TEST(Step, bf16_trains_nearly_as_fp32_does) {
  MockDevice narrow;
  MockDevice full;
  const Job job = native_job(1, 16);
  const Trained rounded = train(narrow, small_network(), with(job, DType::bf16), 10);
  const Trained exact = train(full, small_network(), job, 10);
  EXPECT_LT(difference(rounded.parameters, exact.parameters), 5e-3);
  EXPECT_GT(difference(rounded.parameters, exact.parameters), 1e-5);
  for (std::size_t i = 0; i < exact.losses.size(); ++i)
    EXPECT_NEAR(rounded.losses[i], exact.losses[i], 5e-3);
}

// Each micro-batch's gradient is rounded before it is added, as each rank's is.
TEST(Step, bf16_micro_batches_add_up_to_nearly_one_batch) {
  for (const int k : {2, 4, 12}) {
    MockDevice whole;
    MockDevice parts;
    const Trained one = train(whole, small_network(), with(native_job(1, 6 * k), DType::bf16), 6);
    const Trained many =
        train(parts, small_network(), with(native_job(1, 6, accumulate(k)), DType::bf16), 6);
    EXPECT_LT(difference(many.parameters, one.parameters), 2e-3) << k;
  }
}

TEST(Step, the_loss_falls_while_training_on_one_batch) {
  MockDevice device;
  Trainer trainer(device, small_network(), native_job(1, 16), 0.5F);
  DeviceBatches batches(device, trainer.layout(), 16, 1);
  batches.load(device, 0, samples(trainer.layout(), 1, 0, 16));
  trainer.set_parameters(initial_parameters(trainer.layout(), 2));
  trainer.step(batches.all());
  const double before = trainer.loss();
  for (int i = 0; i < 200; ++i) trainer.step(batches.all());
  EXPECT_LT(trainer.loss(), 0.5 * before);
}

TEST(Step, the_first_loss_is_the_logarithm_of_the_classes_when_all_weights_are_zero) {
  MockDevice device;
  Trainer trainer(device, small_network(), native_job(1, 4, accumulate(3)), kRate);
  DeviceBatches batches(device, trainer.layout(), 4, 3);
  trainer.set_parameters(std::vector<float>(trainer.layout().parameters()));
  trainer.step(batches.all());
  EXPECT_NEAR(trainer.loss(), std::log(5.0), 1e-6);
}

TEST(Step, micro_batches_add_up_to_one_batch) {
  MockDevice whole;
  MockDevice parts;
  const Trained one = train(whole, small_network(), native_job(1, 12), 4);
  const Trained four = train(parts, small_network(), native_job(1, 3, accumulate(4)), 4);
  EXPECT_LT(difference(four.parameters, one.parameters), kSameToRounding);
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(four.losses[i], one.losses[i], 1e-6);
}

// Peers that hold what this rank holds change nothing: the average of equal gradients is that
// gradient.
TEST(Step, equal_ranks_train_as_one_in_every_synchronised_mode) {
  for (Strategy strategy : {Strategy{}, small_buckets(), bucket_view()}) {
    for (const int k : {1, 3}) {
      for (const int ranks : {2, 3, 4}) {
        strategy.micro_batches = k;
        MockDevice alone;
        MockDevice together(ranks);
        const Trained one =
            train(alone, small_network(), native_job(1, 4, accumulate(k)), 3, 7, 0, 1);
        const Trained many =
            train(together, small_network(), native_job(ranks, 4, strategy), 3, 7, 0, 1);
        EXPECT_LT(difference(many.parameters, one.parameters), kSameToRounding)
            << describe(strategy) << " on " << ranks;
        EXPECT_THAT(together.races, testing::IsEmpty()) << describe(strategy);
      }
    }
  }
}

Strategy fsdp_blocks(bool reshard) {
  Strategy strategy;
  strategy.sharding = Sharding::fsdp_block;
  strategy.reshard = reshard;
  return strategy;
}

TEST(Step, no_strategy_lets_the_streams_touch_the_same_memory_unordered) {
  Strategy half = small_buckets();
  half.compression = DType::fp16;
  Strategy half_view = half;
  half_view.bucket_view = true;
  Strategy off;
  off.sync = false;
  for (Strategy strategy : {Strategy{}, small_buckets(), bucket_view(), half, half_view,
                            fsdp_unit(), fsdp_blocks(true), fsdp_blocks(false), off}) {
    for (const int k : {1, 2}) {
      strategy.micro_batches = k;
      MockDevice device(2);
      static_cast<void>(train(device, small_network(), native_job(2, 4, strategy), 3));
      EXPECT_THAT(device.races, testing::IsEmpty()) << describe(strategy);
    }
  }
}

TEST(Step, without_synchronisation_no_collective_is_issued) {
  Strategy off;
  off.sync = false;
  MockDevice device(4, 2);
  static_cast<void>(train(device, small_network(), native_job(4, 4, off), 2));
  EXPECT_THAT(device.log, testing::Each(testing::Not(testing::HasSubstr("all_reduce"))));
}

TEST(Step, initialising_tensor_by_tensor_gives_the_initial_parameters_of_the_seed) {
  for (const Strategy& strategy : {Strategy{}, fsdp_unit(), fsdp_blocks(true)}) {
    MockDevice device(1);
    Trainer trainer(device, small_network(), native_job(1, 4, strategy), kRate);
    Pulse quiet;
    trainer.initialise(7, quiet);
    EXPECT_EQ(trainer.parameters(), initial_parameters(trainer.layout(), 7));
  }
}

TEST(Step, strong_scaling_gives_each_rank_its_share_of_the_batch) {
  Job job = native_job(4, 12);
  job.scaling = Scaling::strong;
  MockDevice device(4);
  EXPECT_EQ(Trainer(device, small_network(), job, kRate).rows(), 3U);
}

TEST(Step, a_job_that_cannot_be_run_is_refused) {
  MockDevice device(2);
  const auto refused = [&](const Job& job) {
    EXPECT_THROW(Trainer(device, small_network(), job, kRate), InputError);
  };
  refused(native_job(4, 8));
  refused(native_job(1, 8));
  refused(native_job(2, 0.5));
  refused(native_job(2, 2.5));
  refused(native_job(2, std::nan("")));
  Job job = native_job(2, 3);
  job.scaling = Scaling::strong;  // a sample and a half
  refused(job);
  refused(with(native_job(2, 8), DType::fp16));
  refused(with(native_job(2, 8), DType::tf32));
}

}  // namespace
}  // namespace ddpx::engine
