// AdamW on real devices: one update against its formula, and N ranks against one.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using engine::kSteps;
using engine::native_job;
using engine::small_network;
using engine::train;
using engine::Trained;
using engine::with;

constexpr int kUpdates = 12;

// PyTorch's formula, in double from beginning to end.
struct Reference {
  double parameter;
  double first = 0;
  double second = 0;

  void update(double gradient, int t, const engine::AdamW& rule) {
    parameter -= rule.rate * rule.weight_decay * parameter;
    first = rule.first_decay * first + (1 - rule.first_decay) * gradient;
    second = rule.second_decay * second + (1 - rule.second_decay) * gradient * gradient;
    const double mean = first / (1 - std::pow(rule.first_decay, t));
    const double square = second / (1 - std::pow(rule.second_decay, t));
    parameter -= rule.rate * mean / (std::sqrt(square) + rule.epsilon);
  }
};

std::vector<float> numbers(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

// `count` elements that begin `offset` elements into their memory.
void expect_formula(std::size_t count, std::size_t offset) {
  engine::Device& device = shared_device();
  std::mt19937 random(7);
  std::vector<engine::Buffer> buffers;
  const auto slice = [&](std::size_t elements, std::size_t begin) {
    buffers.push_back(device.allocate(begin + elements, DType::fp32));
    return buffers.back().part(begin, elements);
  };
  const engine::Slice parameters = slice(count, offset);
  const engine::Slice gradients = slice(count, offset);
  const engine::Moments state{slice(count, offset), slice(count, offset),
                              slice(engine::kAdamWCountElements, 0)};
  const std::vector<float> start = numbers(count, random);
  device.upload(start, parameters);
  const engine::AdamW rule{.rate = 3e-3};
  std::vector<Reference> expected;
  for (const float v : start) expected.push_back({double{v}});
  for (int t = 1; t <= kUpdates; ++t) {
    // Large and small gradients: the update hardly depends on their size.
    std::vector<float> gradient = numbers(count, random);
    for (std::size_t i = 0; i < count; ++i) gradient[i] *= std::exp2(-static_cast<float>(i % 24));
    device.upload(gradient, gradients);
    device.adamw(parameters, gradients, state, rule);
    for (std::size_t i = 0; i < count; ++i) expected[i].update(double{gradient[i]}, t, rule);
  }
  std::vector<float> seen(count);
  device.download(parameters, seen);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_NEAR(seen[i], expected[i].parameter, 1e-6 + 1e-6 * std::abs(expected[i].parameter))
        << i << " of " << count;
}

TEST(AdamW, follows_the_formula_in_double_over_some_updates) {
  for (const std::size_t count : {1, 3, 64, 1000, 4097, 300'000}) expect_formula(count, 0);
}

TEST(AdamW, follows_it_away_from_the_alignment_of_memory) { expect_formula(1001, 3); }

// Where a gradient is next to nothing its sign is rounding, and so is the direction of its update:
// most weights agree to rounding, none moves another way by more than the steps' rates together.
TEST(AdamW, ranks_together_give_the_weights_of_one_rank_with_all_their_samples) {
  engine::Device& device = shared_device();
  const int ranks = device.ranks();
  for (Strategy strategy : engine::synchronised_strategies()) {
    for (const int k : {1, 3}) {
      strategy.micro_batches = k;
      const Trained together = train(
          device, small_network(), with(native_job(ranks, 6, strategy), Optimizer::adamw), kSteps);
      engine::MockDevice mock;
      const Trained alone = train(mock, small_network(),
                                  with(native_job(1, 6 * k * ranks), Optimizer::adamw), kSteps);
      std::size_t apart = 0;
      std::size_t astray = 0;
      for (std::size_t i = 0; i < alone.parameters.size(); ++i) {
        const double d = std::abs(double{together.parameters[i]} - double{alone.parameters[i]});
        if (!(d < 2.0 * kSteps * double{engine::kAdamWRate})) ++astray;
        if (!(d <= 2e-6)) ++apart;
      }
      EXPECT_EQ(astray, 0U) << describe(strategy) << " on " << ranks;
      EXPECT_LT(apart, alone.parameters.size() / 100) << describe(strategy) << " on " << ranks;
      for (const auto& other : from_all_ranks(together.parameters))
        EXPECT_EQ(other, together.parameters) << describe(strategy);
    }
  }
}

}  // namespace
}  // namespace ddpx::test
