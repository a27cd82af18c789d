#include "validation/score_baselines.hpp"

#include <gtest/gtest.h>

#include "tests/validation/runs_for_tests.hpp"

namespace ddpx {
namespace {

using namespace test;

std::optional<double> error_of(const Comparison& c, std::size_t row, Baseline baseline) {
  return c.rows.at(row).baseline_error[static_cast<std::size_t>(baseline)];
}

// One-GPU row and a row of `gpus` that is `speedup` times as fast.
void add_pair(std::vector<RunRow>& rows, double width, double speedup,
              const std::string& link = "wire", int gpus = 2) {
  rows.push_back(made_row(1, width, 1.0, link));
  rows.push_back(made_row(gpus, width, gpus / speedup, link));
}

TEST(Formulas, b0_to_b4_are_scored_on_every_row_and_b0_is_n_times_the_throughput) {
  const Runs runs = made_runs({made_row(2, 100, 4 * exact_step(100), "slow")});
  const Comparison c = compared(runs);
  for (const Baseline baseline :
       {Baseline::b0, Baseline::b1, Baseline::b2, Baseline::b3, Baseline::b4}) {
    EXPECT_TRUE(error_of(c, 0, baseline)) << name(baseline);
  }
  EXPECT_NEAR(*error_of(c, 0, Baseline::b0), 0.25 - 1, 1e-6);  // one one-GPU step against four
  EXPECT_NEAR(*error_of(c, 0, Baseline::b1), 4.0 / 4 - 1, 1e-6);
  EXPECT_NEAR(*error_of(c, 0, Baseline::b2), 5.0 / 4 - 1, 1e-6);
  EXPECT_EQ(c.baselines.size(), 5U);
  EXPECT_EQ(c.baselines[0].forecast_on_same_rows.rows, 1U);
}

TEST(B5, is_amdahl_through_the_other_networks_rows) {
  std::vector<RunRow> rows;
  add_pair(rows, 100, 1.6);
  add_pair(rows, 200, 1.25);
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  // One other point: the law goes through it, so each row is forecast the other's speedup.
  ASSERT_TRUE(error_of(c, 0, Baseline::b5));
  EXPECT_NEAR(*error_of(c, 0, Baseline::b5), 1.6 / 1.25 - 1, 1e-9);
  EXPECT_NEAR(*error_of(c, 1, Baseline::b5), 1.25 / 1.6 - 1, 1e-9);
}

TEST(B5, never_sees_its_own_network_whatever_else_its_rows_measured) {
  std::vector<RunRow> rows;
  add_pair(rows, 100, 1.6);
  add_pair(rows, 200, 1.25);
  rows.push_back(made_row(2, 100, 2 / 1.9));  // the same network, measured again
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  EXPECT_NEAR(*error_of(c, 0, Baseline::b5), 1.6 / 1.25 - 1, 1e-9);
  EXPECT_NEAR(*error_of(c, 2, Baseline::b5), 1.9 / 1.25 - 1, 1e-9);
}

TEST(B5, where_there_are_several_links_it_sees_other_links_alone) {
  std::vector<RunRow> rows;
  add_pair(rows, 100, 1.6, "a");
  add_pair(rows, 200, 1.9, "a");
  add_pair(rows, 300, 1.25, "b");
  add_pair(rows, 100, 1.1, "b");  // the same network on the other link: left out too
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  EXPECT_NEAR(*error_of(c, 0, Baseline::b5), 1.6 / 1.25 - 1, 1e-9);
}

TEST(B5, needs_another_row_of_the_same_strategy_and_gpu_count) {
  std::vector<RunRow> rows;
  add_pair(rows, 100, 1.6);
  add_pair(rows, 200, 3.0, "wire", 4);
  rows.push_back(made_row(2, 200, 1.0, "wire", "ddp,bucket=1MiB"));
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  EXPECT_FALSE(error_of(c, 0, Baseline::b5));
  EXPECT_FALSE(error_of(c, 1, Baseline::b5));
}

TEST(B6, is_the_scalability_law_through_the_other_counts_and_needs_two_of_them) {
  const auto law = [](double n) { return n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)); };
  std::vector<RunRow> rows;
  for (const int gpus : {2, 4, 8}) add_pair(rows, 100, law(gpus), "wire", gpus);
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  for (std::size_t row = 0; row < 3; ++row) {
    ASSERT_TRUE(error_of(c, row, Baseline::b6));
    EXPECT_NEAR(*error_of(c, row, Baseline::b6), 0, 1e-6);
  }
  rows.resize(4);
  const Runs two_counts = made_runs(rows);
  EXPECT_FALSE(error_of(compared(two_counts), 0, Baseline::b6));
}

TEST(B6, does_not_mix_links) {
  std::vector<RunRow> rows;
  add_pair(rows, 100, 1.9, "a", 2);
  add_pair(rows, 100, 3.5, "a", 4);
  add_pair(rows, 100, 6.0, "b", 8);
  const Runs runs = made_runs(rows);
  const Comparison c = compared(runs);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_FALSE(error_of(c, row, Baseline::b6));
}

TEST(Baselines, verdicts_are_those_of_points_on_the_measured_one_gpu_step) {
  const double one = exact_step(100);
  // Measured not to pay; B0 says everything pays, B2 knows the link.
  const Runs runs = made_runs({made_row(1, 100, one), made_row(2, 100, 5 * one, "slow")});
  const Comparison c = compared(runs);
  ASSERT_GE(c.baselines.size(), 3U);
  EXPECT_EQ(c.baselines[0].summary.verdicts_judged, 1U);
  EXPECT_EQ(c.baselines[0].summary.verdicts_right, 0U);
  EXPECT_EQ(c.baselines[2].summary.verdicts_right, 1U);
}

}  // namespace
}  // namespace ddpx
