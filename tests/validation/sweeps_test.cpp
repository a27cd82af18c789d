#include "validation/sweeps.hpp"

#include <gtest/gtest.h>

#include "tests/validation/runs_for_tests.hpp"

namespace ddpx {
namespace {

using namespace test;

std::vector<RunRow> swept(const std::vector<std::pair<double, double>>& widths_and_speedups) {
  std::vector<RunRow> rows;
  for (const auto& [width, speedup] : widths_and_speedups) {
    rows.push_back(made_row(1, width, 1.0));
    rows.push_back(made_row(2, width, 2 / speedup));
  }
  return rows;
}

TEST(Sweeps, points_ascend_in_parameters_however_the_rows_are_ordered) {
  const Runs runs = made_runs(swept({{400, 0.8}, {100, 1.6}, {200, 1.25}}));
  const Comparison c = compared(runs);
  ASSERT_EQ(c.sweeps.size(), 1U);
  EXPECT_EQ(c.sweeps[0].group, "wire, 2 GPUs, ddp, batch 1, made:");
  ASSERT_EQ(c.sweeps[0].measured.size(), 3U);
  EXPECT_DOUBLE_EQ(c.sweeps[0].measured[0].x, 1e4);
  EXPECT_NEAR(c.sweeps[0].measured[0].speedup.value, 1.6, 1e-12);
  EXPECT_DOUBLE_EQ(c.sweeps[0].measured[2].x, 16e4);
  EXPECT_NEAR(c.sweeps[0].forecast[0].speedup.value, 2.0, 1e-6);
}

TEST(Sweeps, a_size_measured_several_times_is_one_point_with_their_median) {
  std::vector<RunRow> rows = swept({{100, 1.6}, {200, 1.25}, {400, 0.8}});
  rows.push_back(made_row(2, 200, 2 / 1.35));
  rows.push_back(made_row(2, 200, 2 / 1.30));
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  ASSERT_EQ(c.sweeps[0].measured.size(), 3U);
  const Interval speedup = c.sweeps[0].measured[1].speedup;
  EXPECT_NEAR(speedup.value, 1.30, 1e-12);
  EXPECT_NEAR(speedup.low, 1.25, 1e-12);
  EXPECT_NEAR(speedup.high, 1.35, 1e-12);
}

TEST(Sweeps, what_differs_in_anything_but_width_is_another_sweep) {
  std::vector<RunRow> rows = swept({{100, 1.6}, {200, 1.25}});
  for (const double width : {100.0, 200.0}) {
    rows.push_back(made_row(2, width, 1.0, "other"));
    rows.push_back(made_row(4, width, 1.0));
    rows.push_back(made_row(2, width, 1.0, "wire", "ddp,bucket=1MiB"));
    RunRow larger = made_row(2, width, 1.0);
    larger.job.batch_per_rank = 2;
    rows.push_back(larger);
    RunRow adamw = made_row(2, width, 1.0);
    adamw.job.optimizer = Optimizer::adamw;
    rows.push_back(adamw);
  }
  const Runs runs = made_runs(rows);
  EXPECT_EQ(compared(runs).sweeps.size(), 6U);
}

TEST(Crossings, are_found_by_log_log_interpolation_on_the_measured_points) {
  // Speedup 2 at 10^4 parameters and 1/2 at 4 x 10^4: the line in log-log meets 1 halfway, at 2 x
  // 10^4.
  const Runs runs = made_runs(swept({{50, 2.0}, {100, 2.0}, {200, 0.5}}));
  const Comparison c = compared(runs);
  ASSERT_EQ(c.crossings.size(), 1U);
  ASSERT_EQ(c.crossings[0].measured.size(), 1U);
  EXPECT_NEAR(c.crossings[0].measured[0].x.value, 2e4, 1);
  EXPECT_DOUBLE_EQ(c.crossings[0].measured[0].bracket_low, 1e4);
  EXPECT_DOUBLE_EQ(c.crossings[0].measured[0].bracket_high, 4e4);
  EXPECT_EQ(c.crossings[0].measured[0].pays, PaysSide::below);
  EXPECT_TRUE(c.crossings[0].forecast.empty());  // the forecast speedup is 2 everywhere
}

TEST(Crossings, need_three_sizes) {
  const Runs runs = made_runs(swept({{100, 2.0}, {200, 0.5}}));
  EXPECT_TRUE(compared(runs).crossings.empty());
}

TEST(Crossings, leave_out_sizes_of_which_one_side_is_missing) {
  SweepComparison sweep;
  const auto point = [](double x, double y) { return SweepPoint{x, {y, y, y}}; };
  sweep.forecast = {point(1, 2), point(2, 0.5), point(4, 2), point(8, 2)};
  sweep.measured = {point(1, 2), point(4, 2), point(8, 2)};
  const CrossingComparison crossing = compare_crossings(sweep);
  EXPECT_TRUE(crossing.forecast.empty());  // the dip at 2 was not measured
  EXPECT_TRUE(crossing.measured.empty());
}

}  // namespace
}  // namespace ddpx
