#include "validation/regime.hpp"

#include <gtest/gtest.h>

#include "tests/validation/runs_for_tests.hpp"

namespace ddpx {
namespace {

using namespace test;

double flops(const RunRow& row) { return width_of(row) * width_of(row); }

std::optional<Regime> regime_in(const std::vector<RunRow>& one_gpu, const RunRow& row) {
  const Runs runs = made_runs(one_gpu);
  return OneGpuRows(runs, flops).regime_of(row);
}

TEST(Regime, a_step_that_follows_the_flops_of_the_next_width_within_10_percent_is_gpu_bound) {
  const RunRow row = made_row(2, 100, 1.0);
  // 4x the flops in 4 / 1.09 times the time, or in 4 x 1.09.
  EXPECT_EQ(regime_in({made_row(1, 100, 1.09), made_row(1, 200, 4.0)}, row), Regime::gpu_bound);
  EXPECT_EQ(regime_in({made_row(1, 100, 0.92), made_row(1, 200, 4.0)}, row), Regime::gpu_bound);
}

TEST(Regime, a_step_slower_than_its_flops_by_more_than_10_percent_is_host_bound) {
  const RunRow row = made_row(2, 100, 1.0);
  EXPECT_EQ(regime_in({made_row(1, 100, 1.12), made_row(1, 200, 4.0)}, row), Regime::host_bound);
  EXPECT_EQ(regime_in({made_row(1, 100, 4.0), made_row(1, 200, 4.0)}, row), Regime::host_bound);
}

TEST(Regime, the_next_larger_width_decides_and_not_a_far_one) {
  const RunRow row = made_row(2, 100, 1.0);
  EXPECT_EQ(regime_in({made_row(1, 400, 99.0), made_row(1, 100, 1.0), made_row(1, 200, 4.0)}, row),
            Regime::gpu_bound);
}

TEST(Regime, the_largest_width_is_compared_with_the_next_smaller) {
  const RunRow row = made_row(2, 400, 1.0);
  EXPECT_EQ(regime_in({made_row(1, 100, 9.0), made_row(1, 200, 4.0), made_row(1, 400, 16.0)}, row),
            Regime::gpu_bound);
  EXPECT_EQ(regime_in({made_row(1, 200, 4.0), made_row(1, 400, 32.0)}, row), Regime::host_bound);
}

TEST(Regime, kernel_records_outweigh_flops) {
  const RunRow row = made_row(2, 100, 1.0);
  RunRow busy = made_row(1, 100, 9.0);
  busy.device_busy_share = 0.90;
  EXPECT_EQ(regime_in({busy, made_row(1, 200, 4.0)}, row), Regime::gpu_bound);
  busy.device_busy_share = 0.89;
  EXPECT_EQ(regime_in({busy, made_row(1, 200, 4.0)}, row), Regime::host_bound);
}

TEST(Regime, the_row_may_carry_the_one_gpu_steps_busy_share_itself) {
  RunRow row = made_row(2, 100, 1.0);
  row.device_busy_share = 0.5;
  EXPECT_EQ(regime_in({}, row), Regime::host_bound);
}

TEST(Regime, a_neighbour_of_another_batch_dtype_or_series_is_none) {
  const RunRow row = made_row(2, 100, 1.0);
  RunRow other = made_row(1, 200, 4.0);
  other.job.batch_per_rank = 2;
  EXPECT_EQ(regime_in({made_row(1, 100, 1.0), other}, row), std::nullopt);
  other = made_row(1, 200, 4.0);
  other.job.dtype = DType::bf16;
  EXPECT_EQ(regime_in({made_row(1, 100, 1.0), other}, row), std::nullopt);
  other = made_row(1, 200, 4.0);
  other.network = "else:width=200";
  EXPECT_EQ(regime_in({made_row(1, 100, 1.0), other}, row), std::nullopt);
}

TEST(Regime, without_a_one_gpu_row_the_file_cannot_tell) {
  EXPECT_EQ(regime_in({made_row(1, 200, 4.0)}, made_row(2, 100, 1.0)), std::nullopt);
}

TEST(OneGpuRows, the_row_of_the_same_link_is_taken_first_and_several_give_their_median) {
  const Runs runs = made_runs({made_row(1, 100, 1.0, "a"), made_row(1, 100, 5.0, "b"),
                               made_row(1, 100, 7.0, "b"), made_row(1, 100, 6.0, "b")});
  const OneGpuRows rows(runs, flops);
  const auto on_b = rows.step_of(made_row(2, 100, 1.0, "b"));
  ASSERT_TRUE(on_b);
  EXPECT_DOUBLE_EQ(on_b->value, 6.0);
  EXPECT_DOUBLE_EQ(on_b->low, 5.0);
  EXPECT_DOUBLE_EQ(on_b->high, 7.0);
  const auto elsewhere = rows.step_of(made_row(2, 100, 1.0, "c"));
  ASSERT_TRUE(elsewhere);
  EXPECT_DOUBLE_EQ(elsewhere->value, 5.5);
}

TEST(OneGpuRows, an_accumulating_one_gpu_row_is_not_the_plain_step) {
  const Runs runs = made_runs({made_row(1, 100, 1.0, "a", "ddp,accumulate=4")});
  EXPECT_FALSE(OneGpuRows(runs, flops).step_of(made_row(2, 100, 1.0, "a")));
}

TEST(SeriesOf, drops_the_width_and_nothing_else) {
  EXPECT_EQ(series_of("mlp:width=4096,depth=8"), "mlp:depth=8");
  EXPECT_EQ(series_of("mlp:depth=8,width=4096"), "mlp:depth=8");
  EXPECT_EQ(series_of("gpt:layers=12,hidden=768,heads=12"), "gpt:layers=12,heads=12");
  EXPECT_EQ(series_of("mlp:width=4096"), "mlp:");
  EXPECT_EQ(series_of("net.json"), "net.json");
  EXPECT_EQ(series_of("mlp:"), "mlp:");
  EXPECT_EQ(series_of(""), "");
}

}  // namespace
}  // namespace ddpx
