#include "validation/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/error.hpp"
#include "tests/validation/runs_for_tests.hpp"

namespace ddpx {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr double kClose = 1e-6;

// A two-GPU row whose forecast is off by `error`.
RunRow off_by(double error, double width = 100, const std::string& link = "wire") {
  return made_row(2, width, exact_step(width) / (1.0 + error), link);
}

TEST(Compare, errors_are_forecast_over_measured_minus_one) {
  const Comparison c = compared(made_runs({off_by(0.25), off_by(-0.5)}));
  ASSERT_EQ(c.rows.size(), 2U);
  EXPECT_NEAR(c.rows[0].error, 0.25, kClose);
  EXPECT_NEAR(c.rows[1].error, -0.5, kClose);
  EXPECT_EQ(c.rows[0].network, "made:width=100");
  EXPECT_DOUBLE_EQ(c.rows[0].parameters, 10000);
  EXPECT_DOUBLE_EQ(c.rows[0].width, 100);
}

TEST(Compare, the_summary_of_known_errors_is_exact) {
  const Comparison c =
      compared(made_runs({off_by(0.01), off_by(-0.02), off_by(0.03), off_by(-0.04), off_by(0.50)}));
  EXPECT_EQ(c.summary.rows, 5U);
  EXPECT_NEAR(c.summary.median_abs_error, 0.03, kClose);
  EXPECT_NEAR(c.summary.p95_abs_error, 0.04 + 0.8 * 0.46, kClose);  // rank 0.95 x 4 = 3.8
  EXPECT_NEAR(c.summary.max_abs_error, 0.50, kClose);
  EXPECT_NEAR(c.summary.median_error, 0.01, kClose);
  // The interval is 5 % x 1.645 to either side.
  EXPECT_NEAR(c.summary.median_half_width, std::sinh(0.05 * kNormalQuantile90), kClose);
  EXPECT_DOUBLE_EQ(c.summary.interval_coverage, 0.8);
}

TEST(Compare, the_measured_step_is_the_median_of_processes_and_one_gpu_rows_are_not_judged) {
  RunRow row = made_row(2, 100, 1.0);
  row.processes = {{{0.010, 0.010, 9.0}}, {{0.012}}, {{0.020, 0.022}}};
  const Comparison c = compared(made_runs({made_row(1, 100, 0.010), row}));
  ASSERT_EQ(c.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(c.rows[0].measured.value, 0.012);
  EXPECT_DOUBLE_EQ(c.rows[0].measured.low, 0.010);
  EXPECT_DOUBLE_EQ(c.rows[0].measured.high, 0.021);
}

TEST(Compare, measured_speedup_is_samples_per_second_over_plain_one_gpu_steps) {
  RunRow accumulating = made_row(4, 100, 0.050, "wire", "ddp,accumulate=3");
  const Comparison c = compared(made_runs({made_row(1, 100, 0.010), accumulating}));
  ASSERT_TRUE(c.rows[0].measured_speedup);
  EXPECT_NEAR(*c.rows[0].measured_speedup, (4 * 3 / 0.050) / (1 / 0.010), kClose);
}

TEST(Compare, a_speedup_that_so_many_gpus_cannot_give_judges_no_verdict) {
  const Comparison c =
      compared(made_runs({made_row(1, 100, 1.0), made_row(2, 100, exact_step(100))}));
  ASSERT_TRUE(c.rows[0].measured_speedup);
  EXPECT_GT(*c.rows[0].measured_speedup, 3);
  EXPECT_FALSE(c.rows[0].verdict_right);
  EXPECT_THAT(c.rows[0].rests_on, HasSubstr("above the number of GPUs"));
}

TEST(Compare, strong_scaling_speeds_up_the_batch_of_one_gpu) {
  RunRow one = made_row(1, 100, 0.040);
  RunRow four = made_row(4, 100, 0.012);
  one.job.batch_per_rank = four.job.batch_per_rank = 4;
  one.job.scaling = four.job.scaling = Scaling::strong;
  const Comparison c = compared(made_runs({one, four}));
  ASSERT_TRUE(c.rows[0].measured_speedup);
  EXPECT_NEAR(*c.rows[0].measured_speedup, 0.040 / 0.012, kClose);
}

TEST(Compare, without_a_one_gpu_row_there_is_no_speedup_and_no_verdict_to_judge) {
  const Comparison c = compared(made_runs({off_by(0.0)}));
  EXPECT_FALSE(c.rows[0].measured_speedup);
  EXPECT_FALSE(c.rows[0].verdict_right);
  EXPECT_THAT(c.rows[0].rests_on, HasSubstr("no one-GPU row"));
  EXPECT_THAT(c.rows[0].rests_on, HasSubstr("regime taken from the forecast"));
  EXPECT_EQ(c.rows[0].regime, Regime::gpu_bound);
  EXPECT_EQ(c.summary.verdicts_judged, 0U);
}

TEST(Compare, verdicts_are_counted_as_the_definition_says) {
  const double one = exact_step(100);
  const Comparison c = compared(made_runs({
      made_row(1, 100, one),
      made_row(2, 100, one, "wire"),             // pays, and does: right
      made_row(2, 100, 5 * one, "slow"),         // does not pay, and does not: right
      made_row(2, 100, 2 / 1.2 * one, "slow"),   // does not pay, but does: wrong
      made_row(2, 100, 2 / 1.2 * one, "level"),  // too close, but pays: wrong
      made_row(2, 100, 2 / 1.04 * one, "slow"),  // within 5 % of break-even: not judged
      made_row(2, 100, 2 / 0.96 * one, "level"),
  }));
  EXPECT_EQ(c.rows[0].verdict_right, true);
  EXPECT_EQ(c.rows[1].verdict_right, true);
  EXPECT_EQ(c.rows[2].verdict_right, false);
  EXPECT_EQ(c.rows[3].verdict_right, false);
  EXPECT_EQ(c.rows[3].forecast.verdict, Verdict::too_close);
  EXPECT_EQ(c.rows[4].verdict_right, std::nullopt);
  EXPECT_EQ(c.rows[5].verdict_right, std::nullopt);
  EXPECT_EQ(c.summary.verdicts_judged, 4U);
  EXPECT_EQ(c.summary.verdicts_right, 2U);
  EXPECT_EQ(c.summary.too_close, 1U);
}

TEST(Compare, several_files_keep_their_one_gpu_rows_apart) {
  const std::vector<Runs> files{made_runs({made_row(1, 100, 0.010), made_row(2, 100, 0.010)}),
                                made_runs({made_row(1, 100, 0.030), made_row(2, 100, 0.010)})};
  const Comparison c = compare(exact_machine(), files, network_of, link_of, {});
  ASSERT_EQ(c.rows.size(), 2U);
  EXPECT_NEAR(*c.rows[0].measured_speedup, 2.0, kClose);
  EXPECT_NEAR(*c.rows[1].measured_speedup, 6.0, kClose);
  EXPECT_EQ(c.summary.rows, 2U);
}

TEST(Compare, error_parts_add_up_to_the_error) {
  RunRow row = made_row(2, 100, 4 * exact_step(100), "slow");
  row.measured_communication_share = 0.70;
  const Comparison c = compared(made_runs({row}));
  ASSERT_TRUE(c.rows[0].error_parts);
  // Forecast: 1 + 4 one-GPU steps of which 4 are exposed; measured: 4 of which 2.8 are.
  EXPECT_NEAR(c.rows[0].error_parts->communication, (4 - 2.8) / 4, kClose);
  EXPECT_NEAR(c.rows[0].error_parts->rest, (1 - 1.2) / 4, kClose);
  EXPECT_NEAR(c.rows[0].error_parts->communication + c.rows[0].error_parts->rest, c.rows[0].error,
              1e-12);
  EXPECT_EQ(c.rows[0].dominant_term, Term::exposed_communication);
  EXPECT_NEAR(c.rows[0].dominant_share, 0.8, kClose);
}

TEST(Compare, groups_are_by_regime_link_family_strategy_and_width) {
  const Comparison c = compared(
      made_runs({made_row(2, 100, 1.0, "a", "ddp"), made_row(2, 100, 1.0, "a", "ddp,bucket=25MiB"),
                 made_row(2, 200, 1.0, "b", "ddp,bucket=1MiB"),
                 made_row(2, 100, 1.0, "b", "ddp,accumulate=2,bucket=1MiB"),
                 made_row(2, 100, 1.0, "b", "ddp,accumulate=2,compress=fp16"),
                 made_row(2, 100, 1.0, "b", "fsdp"), made_row(2, 100, 1.0, "b", "no-sync")}));
  const auto sizes = [](const std::vector<GroupSummary>& groups) {
    std::vector<std::pair<std::string, std::size_t>> result;
    for (const GroupSummary& group : groups) result.emplace_back(group.group, group.summary.rows);
    return result;
  };
  using Sizes = std::vector<std::pair<std::string, std::size_t>>;
  EXPECT_EQ(sizes(c.by_link), (Sizes{{"a", 2}, {"b", 5}}));
  EXPECT_EQ(sizes(c.by_family), (Sizes{{"ddp", 2},
                                       {"bucket", 1},
                                       {"accumulation", 1},
                                       {"compression", 1},
                                       {"fsdp", 1},
                                       {"no-sync", 1}}));
  EXPECT_EQ(sizes(c.by_width), (Sizes{{"width 100", 6}, {"width 200", 1}}));
  EXPECT_EQ(c.by_strategy.size(), 7U);
  EXPECT_EQ(sizes(c.by_regime), (Sizes{{"gpu_bound", 7}}));
}

TEST(Compare, runs_of_one_gpu_alone_judge_its_steps) {
  RunRow half = made_row(1, 100, 0.5 * exact_step(100));
  half.link = "slow";  // which one GPU does not use
  const Runs runs = made_runs({made_row(1, 100, exact_step(100)), half});
  const Comparison c = compared(runs);
  ASSERT_EQ(c.rows.size(), 2U);
  EXPECT_NEAR(c.rows[0].error, 0, kClose);
  EXPECT_NEAR(c.rows[1].error, 1, kClose);
  ASSERT_EQ(c.by_link.size(), 1U);
  EXPECT_EQ(c.by_link[0].group, "one GPU");
  EXPECT_FALSE(c.rows[0].measured_speedup || c.rows[0].verdict_right);
  EXPECT_EQ(c.rows[0].rests_on, "");
  EXPECT_TRUE(c.baselines.empty() && c.sweeps.empty() && c.crossings.empty());
}

}  // namespace
}  // namespace ddpx
