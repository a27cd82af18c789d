#include "profiler/engine/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace ddpx::engine {
namespace {

TEST(Data, noise_is_even_between_minus_one_and_one) {
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double value = noise(3, i);
    ASSERT_GE(value, -1.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  // Mean 0 and variance 1/3, each to five standard errors: 0.577/sqrt(n) and 0.298/sqrt(n).
  EXPECT_NEAR(sum / kDraws, 0, 5 * 0.577 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * 0.298 / std::sqrt(kDraws));
}

TEST(Data, seeds_differ) {
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += noise(1, i) == noise(2, i) ? 1 : 0;
  EXPECT_LE(same, 1);
}

TEST(Data, a_sample_is_the_same_whoever_asks) {
  const Layout layout(mlp({.width = 8, .depth = 1, .classes = 3}));
  const Samples all = samples(layout, 5, 0, 10);
  const Samples part = samples(layout, 5, 4, 3);
  EXPECT_TRUE(std::equal(part.inputs.begin(), part.inputs.end(), all.inputs.begin() + 4 * 8));
  EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), all.labels.begin() + 4));
}

TEST(Data, labels_are_classes_and_all_of_them_occur) {
  const Layout layout(mlp({.width = 8, .depth = 1, .classes = 5}));
  const Samples made = samples(layout, 5, 0, 200);
  EXPECT_EQ(std::set<float>(made.labels.begin(), made.labels.end()),
            (std::set<float>{0, 1, 2, 3, 4}));
}

TEST(Data, more_classes_than_inputs_still_give_valid_labels) {
  const Layout layout(mlp({.width = 2, .depth = 1, .classes = 64}));
  for (const float label : samples(layout, 5, 0, 50).labels) EXPECT_LT(label, 64);
}

TEST(Data, parameters_start_within_one_over_the_square_root_of_the_inputs) {
  const Layout layout(mlp({.width = 16, .depth = 2, .classes = 4}));
  const std::vector<float> values = initial_parameters(layout, 1);
  ASSERT_EQ(values.size(), layout.parameters());
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -0.25F);
  EXPECT_LT(*largest, 0.25F);
  EXPECT_GT(*largest, 0.24F);
}

// Large layers are filled by several threads.
TEST(Data, a_large_layers_values_are_those_of_their_places) {
  const Layout layout(mlp({.width = 2900, .depth = 2}));
  const std::vector<float> values = initial_parameters(layout, 3);
  const std::size_t count = layout.layers().front().weight.elements;
  ASSERT_GT(count, std::size_t{1} << 22U);
  const float bound = 1.0F / std::sqrt(static_cast<float>(layout.layers().front().in));
  for (std::size_t i = 0; i < count; i += 997) ASSERT_EQ(values[i], bound * noise(3, i)) << i;
  EXPECT_EQ(values[count - 1], bound * noise(3, count - 1));
}

}  // namespace
}  // namespace ddpx::engine
