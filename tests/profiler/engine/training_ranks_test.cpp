// What several ranks train together against what one trains alone. The one alone is the mock
// device, whose kernels are written independently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.hpp"
#include "profiler/cpu/bfloat16.hpp"
#include "profiler/cpu/half.hpp"
#include "profiler/engine/run.hpp"
#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using cpu::to_bfloat16;
using cpu::to_float;
using cpu::to_half;
using engine::difference;
using engine::kRate;
using engine::kSameToRounding;
using engine::kSteps;
using engine::native_job;
using engine::small_network;
using engine::train;
using engine::Trained;

// N ranks, K micro-batches, batch B: the weights of one rank at N*K*B.
TEST(Training, ranks_together_give_the_weights_of_one_rank_with_all_their_samples) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  for (Strategy strategy : engine::synchronised_strategies()) {
    for (const int k : {1, 3}) {
      strategy.micro_batches = k;
      const double batch = 6;
      const Trained together =
          train(device, small_network(), native_job(ranks, batch, strategy), kSteps);
      engine::MockDevice mock;
      const Trained alone = train(mock, small_network(), native_job(1, batch * k * ranks), kSteps);
      EXPECT_LT(difference(together.parameters, alone.parameters), kSameToRounding)
          << describe(strategy) << " on " << ranks;
      const auto all = from_all_ranks(together.parameters);
      for (const auto& other : all) EXPECT_EQ(other, together.parameters) << describe(strategy);
    }
  }
}

TEST(Training, without_synchronisation_each_rank_trains_alone_on_its_own_samples) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  for (const int k : {1, 2}) {
    Strategy off;
    off.sync = false;
    off.micro_batches = k;
    const Trained here = train(device, small_network(), native_job(ranks, 6, off), kSteps);
    engine::MockDevice mock;
    Strategy plain;
    plain.micro_batches = k;
    const Trained alone =
        train(mock, small_network(), native_job(1, 6, plain), kSteps, 7, device.rank(), ranks);
    EXPECT_LT(difference(here.parameters, alone.parameters), kSameToRounding);
    for (std::size_t i = 0; i < here.losses.size(); ++i)
      EXPECT_NEAR(here.losses[i], alone.losses[i], 1e-5);
    const auto all = from_all_ranks(here.parameters);
    if (ranks > 1) {
      EXPECT_NE(all[0], all[1]);
    }
  }
}

struct Rounding {
  DType dtype;
  float (*round)(float);
};

float round_half(float v) { return to_float(to_half(v)); }
float round_bfloat16(float v) { return to_float(to_bfloat16(v)); }

// The hook's arithmetic by its definition: cast, divide in half precision, then the ring's order of
// additions: part c starts at rank c+1 and every next rank adds its own, rounding each time.
std::vector<float> averaged(const std::vector<std::vector<float>>& gradients, std::size_t begin,
                            std::size_t count, const Rounding& to) {
  const std::size_t ranks = gradients.size();
  const float share = 1.0F / static_cast<float>(ranks);
  const std::size_t each = count / ranks;
  std::vector<float> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = each == 0 ? ranks - 1 : std::min(i / each, ranks - 1);
    const auto own = [&](std::size_t hop) {
      return to.round(to.round(gradients[(part + 1 + hop) % ranks][begin + i]) * share);
    };
    float sum = own(0);
    for (std::size_t hop = 1; hop < ranks; ++hop) sum = to.round(sum + own(hop));
    sums[i] = sum;
  }
  return sums;
}

// Gradients of `job` from `parameters` on step `step`'s samples.
std::vector<float> gradients_of(const Job& job, const std::vector<float>& parameters, int step) {
  engine::Device& device = shared_device();
  engine::Trainer trainer(device, small_network(), job, kRate);
  trainer.set_parameters(parameters);
  engine::DeviceBatches batches(device, trainer.layout(), trainer.rows(), 1);
  const auto part = static_cast<std::size_t>(step * device.ranks() + device.rank());
  batches.load(device, 0, samples(trainer.layout(), 8, part * trainer.rows(), trainer.rows()));
  trainer.step(batches.all());
  return trainer.gradients();
}

TEST(Training, compressed_gradients_are_those_of_a_reference_that_rounds_alike_to_the_last_bit) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  if (ranks == 1) GTEST_SKIP() << "one rank: nothing is compressed";
  for (const Rounding& rounding :
       {Rounding{DType::fp16, &round_half}, Rounding{DType::bf16, &round_bfloat16}}) {
    for (const bool view : {false, true}) {
      Strategy strategy;
      strategy.buckets = {Bytes(100), Bytes(2500)};
      strategy.bucket_view = view;
      strategy.compression = rounding.dtype;
      Strategy off;
      off.sync = false;
      const engine::Layout layout(small_network());
      std::vector<float> parameters = engine::initial_parameters(layout, 7);
      for (int step = 0; step < 3; ++step) {
        const std::vector<float> local = gradients_of(native_job(ranks, 6, off), parameters, step);
        std::vector<std::vector<float>> flat;
        for (const auto& g : from_all_ranks(local)) flat.push_back(layout.to_flat(g));
        std::vector<float> expected;
        for (const Bucket& bucket : layout.buckets(strategy.buckets)) {
          const std::size_t begin = layout.arrival()[bucket.begin].begin;
          const auto count = static_cast<std::size_t>(bucket.bytes.value() / 4);
          const std::vector<float> sums = averaged(flat, begin, count, rounding);
          expected.insert(expected.end(), sums.begin(), sums.end());
        }
        const std::vector<float> seen =
            gradients_of(native_job(ranks, 6, strategy), parameters, step);
        ASSERT_EQ(layout.to_flat(seen), expected) << describe(strategy) << ", step " << step;
        for (std::size_t i = 0; i < seen.size(); ++i) parameters[i] -= kRate * seen[i];
      }
    }
  }
}

TEST(Training, compression_stays_close_to_full_precision) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  Strategy half;
  half.compression = DType::fp16;
  const Trained exact = train(device, small_network(), native_job(ranks, 6), kSteps);
  const Trained rounded = train(device, small_network(), native_job(ranks, 6, half), kSteps);
  // Eleven bits of gradient, a tenth of which reaches the weights.
  EXPECT_LT(difference(rounded.parameters, exact.parameters), 1e-3);
  if (ranks > 1) {
    EXPECT_GT(difference(rounded.parameters, exact.parameters), 0);
  }
}

TEST(Training, a_measured_timeline_keeps_the_order_of_the_streams) {
  engine::Device& device = shared_device();
  if (device.ranks() == 1) GTEST_SKIP() << "one rank: nothing is sent";
  Strategy strategy;
  strategy.buckets = BucketLimits::explicit_cap(Bytes(90e3));
  Pulse pulse;
  const engine::EngineRun run =
      run_engine(device, mlp({.width = 128, .depth = 4}), native_job(device.ranks(), 32, strategy),
                 {.steps = 3, .warmup = 1, .traced = true}, pulse);
  Seconds last_end{};
  int sums = 0;
  for (const Span& span : run.timeline.spans) {
    EXPECT_LE(span.start, span.end) << span.name;
    EXPECT_GE(span.start, Seconds{}) << span.name;
    if (span.stream != Stream::communication) continue;
    EXPECT_GE(span.start, last_end) << span.name;  // one stream
    last_end = span.end;
    ++sums;
  }
  EXPECT_EQ(sums, 3);  // 33 kB + 66, 66 + 66, 66
  EXPECT_GE(run.communication_share, 0);
  EXPECT_LT(run.communication_share, 1);
}

TEST(Training, step_times_are_the_slowest_ranks_and_the_same_everywhere) {
  engine::Device& device = shared_device();
  Pulse pulse;
  const engine::EngineRun run = run_engine(device, small_network(), native_job(device.ranks(), 8),
                                           {.steps = 5, .warmup = 1}, pulse);
  const std::vector<float> mine(run.step_times_s.begin(), run.step_times_s.end());
  ASSERT_EQ(mine.size(), 5U);
  EXPECT_THAT(mine, testing::Each(testing::Gt(0.0F)));
  for (const auto& other : from_all_ranks(mine)) EXPECT_EQ(other, mine);
}

TEST(Training, as_many_ranks_as_the_job_says_must_run) {
  engine::Device& device = shared_device();
  EXPECT_THROW(engine::Trainer(device, small_network(), native_job(device.ranks() + 1, 8), kRate),
               InputError);
}

}  // namespace
}  // namespace ddpx::test
