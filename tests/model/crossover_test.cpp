#include "model/crossover.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

SweepPoint at(double x, double speedup, double half = 0) {
  return {x, {speedup, speedup * (1 - half), speedup * (1 + half)}};
}

TEST(Crossings, of_a_power_law_lie_exactly_on_it) {
  // speedup = (x / 1000)^-0.5 is a straight line in logarithms: crosses at 1000, whatever the
  // points.
  const auto law = [](double x) { return at(x, std::pow(x / 1000, -0.5)); };
  const std::vector<SweepPoint> points{law(10), law(400), law(3000), law(90000)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].x.value, 1000, 1e-9);
  EXPECT_EQ(found[0].bracket_low, 400);
  EXPECT_EQ(found[0].bracket_high, 3000);
  EXPECT_EQ(found[0].pays, PaysSide::below);
  EXPECT_NEAR(found[0].x.low, 1000, 1e-9);
  EXPECT_NEAR(found[0].x.high, 1000, 1e-9);
}

TEST(Crossings, of_the_intervals_edges_bound_the_crossing) {
  // +-20 % on the same law: the edges cross at 1000 x 0.8^2 and 1000 x 1.2^2.
  const auto law = [](double x) { return at(x, std::pow(x / 1000, -0.5), 0.2); };
  const std::vector<SweepPoint> points{law(10), law(400), law(3000), law(90000)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].x.low, 640, 1e-9);
  EXPECT_NEAR(found[0].x.high, 1440, 1e-9);
}

TEST(Crossings, with_edges_in_other_brackets_than_the_value_find_them) {
  // +-50 %: edges at 250 and 2250, with a sweep point on either side of the value's bracket.
  const auto law = [](double x) { return at(x, std::pow(x / 1000, -0.5), 0.5); };
  const std::vector<SweepPoint> points{law(100),  law(300),  law(900),
                                       law(1100), law(2000), law(4000)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].x.low, 250, 1e-9);
  EXPECT_NEAR(found[0].x.high, 2250, 1e-9);
  EXPECT_EQ(found[0].bracket_low, 900);
  EXPECT_EQ(found[0].bracket_high, 1100);
}

TEST(Crossings, with_edges_that_never_cross_end_at_the_sweeps_ends) {
  const std::vector<SweepPoint> points{at(10, 1.1, 0.5), at(100, 0.9, 0.5)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].x.low, 10);
  EXPECT_EQ(found[0].x.high, 100);
  EXPECT_TRUE(found[0].low_beyond);
  EXPECT_TRUE(found[0].high_beyond);
}

TEST(Crossings, say_which_end_of_their_interval_the_sweep_does_not_reach) {
  const auto law = [](double x) { return at(x, std::pow(x / 1000, -0.5), 0.2); };
  const std::vector<SweepPoint> points{law(900), law(3000)};  // edges at 640 and 1440
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].x.low, 900);
  EXPECT_TRUE(found[0].low_beyond);
  EXPECT_NEAR(found[0].x.high, 1440, 1e-9);
  EXPECT_FALSE(found[0].high_beyond);
}

TEST(Crossings, of_a_rising_curve_pay_above) {
  const std::vector<SweepPoint> points{at(10, 0.5, 0.1), at(40, 2.0, 0.1)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].x.value, 20, 1e-9);
  EXPECT_EQ(found[0].pays, PaysSide::above);
  EXPECT_LT(found[0].x.low, 20);  // where the upper edge crosses
  EXPECT_GT(found[0].x.high, 20);
  EXPECT_NEAR(found[0].x.low, 20 / 1.1, 1e-9);  // slope 1 in logarithms
  EXPECT_NEAR(found[0].x.high, 20 / 0.9, 1e-9);
}

TEST(Crossings, are_all_found_when_a_curve_turns) {
  const std::vector<SweepPoint> points{at(1, 0.5), at(4, 2), at(16, 0.5), at(64, 0.4), at(256, 3)};
  const auto found = crossings(points);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[0].x.value, 2, 1e-12);
  EXPECT_NEAR(found[1].x.value, 8, 1e-12);
  EXPECT_GT(found[2].x.value, 64);
  EXPECT_EQ(found[0].pays, PaysSide::above);
  EXPECT_EQ(found[1].pays, PaysSide::below);
  EXPECT_EQ(found[2].pays, PaysSide::above);
}

TEST(Crossings, of_a_curve_on_one_side_are_none) {
  EXPECT_TRUE(crossings(std::vector<SweepPoint>{at(1, 1.5), at(2, 1.1), at(4, 1.9)}).empty());
  EXPECT_TRUE(crossings(std::vector<SweepPoint>{at(1, 0.5)}).empty());
  EXPECT_TRUE(crossings({}).empty());
}

TEST(Crossings, at_a_sweep_point_are_counted_once_at_that_point) {
  const auto found = crossings(std::vector<SweepPoint>{at(1, 2), at(10, 1), at(50, 0.5)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].x.value, 10);
  EXPECT_EQ(found[0].bracket_low, 1);
  EXPECT_EQ(found[0].bracket_high, 50);
}

TEST(Crossings, of_a_stretch_at_one_lie_in_its_middle) {
  const auto found =
      crossings(std::vector<SweepPoint>{at(1, 2), at(10, 1), at(1000, 1), at(5000, 0.5)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].x.value, 100, 1e-9);
}

TEST(Crossings, that_only_touch_one_are_none) {
  EXPECT_TRUE(crossings(std::vector<SweepPoint>{at(1, 2), at(10, 1), at(50, 2)}).empty());
  EXPECT_TRUE(crossings(std::vector<SweepPoint>{at(1, 1), at(10, 2)}).empty());
  EXPECT_TRUE(crossings(std::vector<SweepPoint>{at(1, 1), at(10, 1)}).empty());
}

TEST(Crossings, keep_the_value_inside_its_interval_and_the_interval_inside_the_sweep) {
  for (double half : {0.0, 0.01, 0.3, 0.99, 1.5}) {
    std::vector<SweepPoint> points;
    for (double x = 1; x < 1e4; x *= 1.9) {
      SweepPoint p = at(x, 1 + 0.6 * std::sin(std::log(x) * 2.1), half);
      p.speedup.low = std::max(0.0, p.speedup.low);
      points.push_back(p);
    }
    for (const Crossing& c : crossings(points)) {
      ASSERT_LE(c.x.low, c.x.value);
      ASSERT_GE(c.x.high, c.x.value);
      ASSERT_GE(c.x.low, points.front().x);
      ASSERT_LE(c.x.high, points.back().x);
      ASSERT_LE(c.bracket_low, c.x.value);
      ASSERT_GE(c.bracket_high, c.x.value);
    }
  }
}

TEST(Crossings, need_ascending_sizes_and_speedups_above_zero) {
  for (const std::vector<SweepPoint>& points : {std::vector<SweepPoint>{at(2, 1), at(1, 2)},
                                                {at(1, 1), at(1, 2)},
                                                {at(0, 1)},
                                                {at(-1, 1)},
                                                {at(1, 0)},
                                                {at(1, std::nan(""))},
                                                {at(std::nan(""), 1)},
                                                {at(HUGE_VAL, 1)}}) {
    expect_input_error([&] { static_cast<void>(crossings(points)); }, {"sweep", "ascend"});
  }
}

TEST(BreakEvenBatch, is_found_to_one_percent) {
  const auto at_300 = [](double batch) { return batch / 300; };
  const double batch = break_even_batch(at_300, 1, 65536).value();
  EXPECT_GE(batch, 300);
  EXPECT_LE(batch, 303);
}

TEST(BreakEvenBatch, is_nothing_when_the_largest_batch_does_not_pay) {
  EXPECT_FALSE(break_even_batch([](double) { return 0.99; }, 1, 4096));
}

TEST(BreakEvenBatch, is_the_smallest_one_when_all_pay) {
  EXPECT_EQ(break_even_batch([](double) { return 1.0; }, 8, 4096), 8);
  EXPECT_EQ(break_even_batch([](double) { return 1.0; }, 8, 8), 8);
}

TEST(BreakEvenBatch, is_the_last_crossing_when_there_are_several) {
  // Pays in [10, 40] and from 500 on: "from which on" is 500.
  const auto twice = [](double b) { return (b >= 10 && b <= 40) || b >= 500 ? 1.2 : 0.8; };
  const double batch = break_even_batch(twice, 1, 8192).value();
  EXPECT_GE(batch, 500);
  EXPECT_LE(batch, 505.1);
}

TEST(BreakEvenBatch, refuses_ranges_that_are_none) {
  const auto one = [](double) { return 1.0; };
  for (double low : {0.0, -1.0, std::nan(""), 9.0}) {
    expect_input_error([&] { static_cast<void>(break_even_batch(one, low, 8)); }, {"range"});
  }
  expect_input_error([&] { static_cast<void>(break_even_batch(one, 1, HUGE_VAL)); }, {"range"});
}

}  // namespace
}  // namespace ddpx
