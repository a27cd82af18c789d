#include "validation/summary.hpp"

#include <gtest/gtest.h>

#include "tests/validation/runs_for_tests.hpp"

namespace ddpx {
namespace {

using namespace test;

TEST(Summary, of_no_rows_is_all_zero) {
  const ErrorSummary summary = summarise(std::span<const Score>{});
  EXPECT_EQ(summary.rows, 0U);
  EXPECT_EQ(summary.median_abs_error, 0);
}

TEST(Summary, counts_coverage_and_verdicts) {
  const std::vector<Score> scores{{0.1, true, 0.2, true, false},
                                  {-0.3, false, 0.4, false, true},
                                  {0.2, true, 0.6, std::nullopt, true}};
  const ErrorSummary summary = summarise(scores);
  EXPECT_EQ(summary.rows, 3U);
  EXPECT_DOUBLE_EQ(summary.median_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(summary.median_error, 0.1);
  EXPECT_DOUBLE_EQ(summary.max_abs_error, 0.3);
  EXPECT_DOUBLE_EQ(summary.p95_abs_error, 0.29);
  EXPECT_DOUBLE_EQ(summary.interval_coverage, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(summary.median_half_width, 0.4);
  EXPECT_EQ(summary.verdicts_judged, 2U);
  EXPECT_EQ(summary.verdicts_right, 1U);
  EXPECT_EQ(summary.too_close, 1U);  // the row that is not judged does not count
}

TEST(WorstFirst, orders_by_the_errors_size) {
  std::vector<ComparedRow> rows(3);
  rows[0].error = 0.1;
  rows[1].error = -0.3;
  rows[2].error = 0.2;
  const auto order = worst_first(rows);
  EXPECT_EQ(order[0], &rows[1]);
  EXPECT_EQ(order[1], &rows[2]);
  EXPECT_EQ(order[2], &rows[0]);
}

// Rows of networks 100, 101, ... of one error each, measured / forecast - 1.
Comparison rows_off_by(const std::vector<double>& nonconformities) {
  std::vector<RunRow> rows;
  double width = 100;
  for (const double off : nonconformities) {
    rows.push_back(made_row(2, width, exact_step(width) * (1 + off)));
    width += 1;
  }
  static std::vector<Runs> kept;  // the comparison points into it
  kept.reserve(64);
  kept.push_back(made_runs(rows));
  return compared(kept.back());
}

TEST(Conformal, nine_rows_support_90_percent_by_their_largest_error_and_eight_do_not) {
  const Comparison nine = rows_off_by({0.01, -0.02, 0.03, 0.04, -0.05, 0.06, 0.07, 0.08, -0.09});
  ASSERT_EQ(nine.by_link_and_regime.size(), 1U);
  ASSERT_TRUE(nine.by_link_and_regime[0].half_width);
  EXPECT_NEAR(*nine.by_link_and_regime[0].half_width, 0.09, 1e-6);
  // Leaving any one out leaves eight, which support nothing.
  EXPECT_FALSE(nine.by_link_and_regime[0].coverage);
  EXPECT_FALSE(rows_off_by({0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08})
                   .by_link_and_regime[0]
                   .half_width);
}

TEST(Conformal, coverage_judges_each_row_by_the_others) {
  // Ten rows: nine others' largest error covers every row but the largest itself.
  const Comparison c = rows_off_by({0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10});
  ASSERT_TRUE(c.by_link_and_regime[0].coverage);
  EXPECT_DOUBLE_EQ(*c.by_link_and_regime[0].coverage, 0.9);
}

TEST(Conformal, rows_of_one_network_leave_together) {
  // Ten networks of two rows; network 109's two are far off. Judged by the other nine networks both
  // miss; had one stayed in, 19 others' 18th smallest error would still miss them, but each other
  // row's half-width would not change: 18 of 20 inside.
  std::vector<RunRow> rows;
  for (int i = 0; i < 10; ++i) {
    const double width = 100 + i;
    const double off = i == 9 ? 0.5 : 0.01 * (i + 1);
    rows.push_back(made_row(2, width, exact_step(width) * (1 + off)));
    rows.push_back(made_row(2, width, exact_step(width) * (1 + off)));
  }
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  ASSERT_TRUE(c.by_link_and_regime[0].coverage);
  EXPECT_DOUBLE_EQ(*c.by_link_and_regime[0].coverage, 18.0 / 20.0);
}

TEST(Conformal, a_network_alone_on_its_link_has_no_coverage) {
  std::vector<RunRow> rows(20, made_row(2, 100, exact_step(100) * 1.1));
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  EXPECT_TRUE(c.by_link_and_regime[0].half_width);
  EXPECT_FALSE(c.by_link_and_regime[0].coverage);
}

}  // namespace
}  // namespace ddpx
