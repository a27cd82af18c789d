// Costs that are known come out; none comes out below zero.
#include "calibration/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ddpx {
namespace {

TEST(CountedCosts, are_recovered_exactly_from_rows_made_of_them) {
  std::vector<CountedRow> rows;
  for (const double a : {1.0, 4.0, 9.0})
    for (const double b : {0.0, 2.0}) rows.push_back({{1, a, b}, 5 + 3 * a + 7 * b, 1 + a});
  const CountedCosts costs = counted_costs(rows);
  EXPECT_NEAR(costs.each[0], 5, 1e-9);
  EXPECT_NEAR(costs.each[1], 3, 1e-9);
  EXPECT_NEAR(costs.each[2], 7, 1e-9);
  EXPECT_NEAR(costs.residual, 0, 1e-9);
  EXPECT_NEAR(costs.of(rows[3]), rows[3].value, 1e-9);
}

TEST(CountedCosts, have_the_standard_errors_of_a_straight_line) {
  // y = 1, 2, 4 at x = 0, 1, 2: intercept 5/6, slope 3/2, s^2 = 1/6, sum of (x - 1)^2 = 2:
  // errors sqrt(s^2 / 2) of the slope and sqrt(s^2 (1/3 + 1/2)) of the intercept.
  const std::vector<CountedRow> rows{{{1, 0}, 1}, {{1, 1}, 2}, {{1, 2}, 4}};
  const CountedCosts costs = counted_costs(rows);
  EXPECT_NEAR(costs.each[0], 5.0 / 6, 1e-12);
  EXPECT_NEAR(costs.each[1], 1.5, 1e-12);
  EXPECT_NEAR(costs.errors[0], std::sqrt(5.0 / 36), 1e-12);
  EXPECT_NEAR(costs.errors[1], std::sqrt(1.0 / 12), 1e-12);
  EXPECT_NEAR(costs.residual, std::sqrt(1.0 / 18), 1e-12);
}

TEST(CountedCosts, below_zero_are_left_out_and_the_others_fitted_again) {
  // y = 2, 5 at x = 1, 2: 3 x - 1 freely, 12/5 x through the origin.
  const std::vector<CountedRow> rows{{{1, 1}, 2}, {{2, 1}, 5}};
  const CountedCosts costs = counted_costs(rows);
  EXPECT_NEAR(costs.each[0], 12.0 / 5, 1e-12);
  EXPECT_EQ(costs.each[1], 0);
  EXPECT_EQ(costs.errors[1], 0);
}

TEST(CountedCosts, that_are_below_their_standard_errors_are_left_out) {
  // y = 1.1, 1.9, 3.1 at x = 1, 2, 3. A line leaves 0.0267 over one row, a slope alone 14.2/14 and
  // 0.0271 over two: the intercept of 0.03 is noise.
  const std::vector<CountedRow> rows{{{1, 1}, 1.1}, {{2, 1}, 1.9}, {{3, 1}, 3.1}};
  const CountedCosts costs = counted_costs(rows);
  EXPECT_NEAR(costs.each[0], 14.2 / 14, 1e-12);
  EXPECT_EQ(costs.each[1], 0);
}

TEST(CountedCosts, that_rows_cannot_tell_apart_go_to_the_first) {
  const std::vector<CountedRow> rows{{{1, 2}, 3}, {{2, 4}, 6}, {{3, 6}, 9}};
  const CountedCosts costs = counted_costs(rows);
  EXPECT_NEAR(costs.each[0], 3, 1e-12);
  EXPECT_EQ(costs.each[1], 0);
}

TEST(CountedCosts, of_values_below_zero_and_of_no_rows_are_none) {
  EXPECT_TRUE(counted_costs({}).each.empty());
  const std::vector<CountedRow> rows{{{1}, -2}};
  EXPECT_EQ(counted_costs(rows).each[0], 0);
}

TEST(CountedCosts, with_no_row_to_spare_are_as_uncertain_as_they_are_large) {
  const std::vector<CountedRow> rows{{{2}, 6}};
  EXPECT_NEAR(counted_costs(rows).errors[0], 3, 1e-12);
}

TEST(CostsNotBelowZero, are_the_least_squares_with_the_rest_at_zero) {
  // y = 2, 5 at x = 1, 2: 3 x - 1 freely, 12/5 x through the origin; y = 1, 2, 4 at 0, 1, 2 has
  // both: 5/6 + 3/2 x.
  const CountedCosts origin =
      costs_not_below_zero(std::vector<CountedRow>{{{1, 1}, 2}, {{2, 1}, 5}});
  EXPECT_NEAR(origin.each[0], 12.0 / 5, 1e-12);
  EXPECT_EQ(origin.each[1], 0);
  EXPECT_NEAR(origin.residual, std::sqrt((0.4 * 0.4 + 0.2 * 0.2) / 2), 1e-12);
  const CountedCosts line =
      costs_not_below_zero(std::vector<CountedRow>{{{1, 0}, 1}, {{1, 1}, 2}, {{1, 2}, 4}});
  EXPECT_NEAR(line.each[0], 5.0 / 6, 1e-12);
  EXPECT_NEAR(line.each[1], 1.5, 1e-12);
}

// The cost that helps most alone leaves again: y = a + b of three counts, of which the third is
// nearly both together.
TEST(CostsNotBelowZero, a_cost_that_entered_first_may_leave) {
  std::vector<CountedRow> rows;
  for (const double a : {1.0, 2.0, 5.0})
    for (const double b : {1.0, 3.0, 4.0})
      rows.push_back({{a, b, a + b - 0.3 * (a > 1 ? 1 : 0)}, 2 * a + 3 * b});
  const CountedCosts costs = costs_not_below_zero(rows);
  EXPECT_NEAR(costs.each[0], 2, 1e-9);
  EXPECT_NEAR(costs.each[1], 3, 1e-9);
  EXPECT_NEAR(costs.each[2], 0, 1e-9);
}

// The conditions of Karush, Kuhn and Tucker, by which nothing below is better: along each cost the
// squares fall no further, and along one above zero they do not rise either. One count is there
// twice, and one is nearly another's.
TEST(CostsNotBelowZero, are_the_best_whatever_the_rows) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 500; ++round) {
    std::vector<CountedRow> rows;
    for (int i = 0; i < 12; ++i) {
      std::vector<double> counts;
      for (int j = 0; j < 6; ++j) counts.push_back(uniform(random));
      counts.push_back(counts[0]);
      counts.push_back(counts[1] * (1 + 1e-3 * uniform(random)));
      rows.push_back({std::move(counts), 4 * uniform(random) - 1});
    }
    const CountedCosts costs = costs_not_below_zero(rows);
    for (std::size_t j = 0; j < rows.front().counts.size(); ++j) {
      double gain = 0;
      for (const CountedRow& row : rows) gain += row.counts[j] * (row.value - costs.of(row));
      ASSERT_GE(costs.each[j], 0);
      ASSERT_LE(gain, 1e-6) << round << " " << j;
      if (costs.each[j] > 0) {
        ASSERT_GE(gain, -1e-6) << round << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace ddpx
