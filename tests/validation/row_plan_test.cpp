#include "validation/row_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ddpx {
namespace {

RowGrid grid() {
  RowGrid grid;
  grid.networks = {"mlp:width=128,depth=8", "mlp:width=256,depth=8"};
  grid.batches = {16, 64, 256};
  grid.strategies = {parse_strategy("ddp"), parse_strategy("ddp,compress=fp16")};
  grid.gpus = {2, 4};
  return grid;
}

TEST(RowPlan, a_grid_is_every_combination_once) {
  const std::vector<RunRow> rows = rows_of(grid());
  EXPECT_EQ(rows.size(), 2U * 3 * 2 * 2);
  std::set<std::string> seen;
  for (const RunRow& row : rows) {
    seen.insert(row.network + describe(row.job.strategy) + std::to_string(row.job.gpus) +
                std::to_string(row.job.batch_per_rank));
    EXPECT_EQ(row.job.engine, Engine::native);
  }
  EXPECT_EQ(seen.size(), rows.size());
}

TEST(RowPlan, rows_of_the_same_work_share_one_one_gpu_row) {
  const std::vector<RunRow> rows = with_one_gpu_rows(rows_of(grid()));
  EXPECT_EQ(
      std::count_if(rows.begin(), rows.end(), [](const RunRow& row) { return row.job.gpus == 1; }),
      2 * 3);
  for (const RunRow& row : rows) {
    if (row.job.gpus == 1) {
      EXPECT_EQ(describe(row.job.strategy), "ddp");
    }
  }
}

TEST(RowPlan, a_one_gpu_row_that_is_there_already_is_not_run_twice) {
  RowGrid with_one = grid();
  with_one.gpus = {1, 2};
  with_one.strategies = {Strategy{}};
  EXPECT_EQ(with_one_gpu_rows(rows_of(with_one)).size(), rows_of(with_one).size());
}

TEST(RowPlan, a_one_gpu_row_serves_the_rows_of_all_links) {
  RowGrid small = grid();
  small.networks.resize(1);
  small.batches = {16};
  small.gpus = {2};
  std::vector<RunRow> rows = rows_of(small);
  rows[0].link = "tcp";
  rows[1].link = "shm";
  EXPECT_EQ(with_one_gpu_rows(rows).size(), 3U);
}

TEST(RowPlan, accumulation_and_strong_scaling_are_compared_with_a_plain_step_of_the_same_batch) {
  RunRow row;
  row.network = "mlp:width=128,depth=8";
  row.job.gpus = 4;
  row.job.batch_per_rank = 64;
  row.job.scaling = Scaling::strong;
  row.job.strategy = parse_strategy("ddp,accumulate=8");
  const std::vector<RunRow> rows = with_one_gpu_rows({row});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].job.strategy.micro_batches, 1);
  EXPECT_EQ(rows[1].job.samples_per_micro_batch(), 64);
}

TEST(RowPlan, every_round_visits_every_row_once) {
  const std::vector<RunRow> rows = with_one_gpu_rows(rows_of(grid()));
  const std::vector<Visit> visits = visits_of(rows, 3, 5);
  ASSERT_EQ(visits.size(), 3 * rows.size());
  for (int round = 0; round < 3; ++round) {
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Visit& visit = visits[static_cast<std::size_t>(round) * rows.size() + i];
      EXPECT_EQ(visit.process, round);
      ASSERT_EQ(visit.rows.size(), 1U);
      seen.insert(visit.rows.front());
    }
    EXPECT_EQ(seen.size(), rows.size());
  }
}

TEST(RowPlan, a_one_gpu_row_stands_among_the_rows_it_is_the_yardstick_of) {
  const std::vector<RunRow> rows = with_one_gpu_rows(rows_of(grid()));
  const std::vector<Visit> visits = visits_of(rows, 2, 9);
  const auto key = [&](const Visit& visit) {
    const RunRow& row = rows[visit.rows.front()];
    return row.network + " " + std::to_string(row.job.batch_per_rank) + " " +
           std::to_string(visit.process);
  };
  std::set<std::string> finished;
  std::string current;
  for (const Visit& visit : visits) {
    if (key(visit) == current) continue;
    EXPECT_TRUE(finished.insert(key(visit)).second) << "its group came twice";
    current = key(visit);
  }
}

TEST(RowPlan, shared_sets_train_every_row_of_a_round_once_and_only_rows_their_ranks_can_run) {
  std::vector<RunRow> rows = with_one_gpu_rows(rows_of(grid()));
  rows.push_back(rows.front());
  rows.back().job.strategy.channels = 4;
  const std::vector<Visit> visits = shared_visits_of(rows, 3, 5);
  std::vector<std::set<std::size_t>> seen(3);
  for (const Visit& visit : visits) {
    for (const std::size_t row : visit.rows) {
      EXPECT_TRUE(seen[static_cast<std::size_t>(visit.process)].insert(row).second);
      EXPECT_EQ(rows[row].job.gpus, rows[visit.rows.front()].job.gpus);
      EXPECT_EQ(rows[row].job.strategy.channels, rows[visit.rows.front()].job.strategy.channels);
    }
  }
  for (const auto& round : seen) EXPECT_EQ(round.size(), rows.size());
  EXPECT_LT(visits.size(), 3 * rows.size());
  EXPECT_EQ(shared_visits_of(rows, 3, 5)[0].rows, visits[0].rows);
}

TEST(RowPlan, the_seed_decides_the_order_and_nothing_else_does) {
  const std::vector<RunRow> rows = with_one_gpu_rows(rows_of(grid()));
  const auto drawn = [&](std::uint64_t seed) {
    std::vector<std::size_t> order;
    for (const Visit& visit : visits_of(rows, 2, seed)) order.push_back(visit.rows.front());
    return order;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  const std::vector<std::size_t> both = drawn(1);
  const auto second = both.begin() + static_cast<std::ptrdiff_t>(rows.size());
  EXPECT_FALSE(std::is_sorted(both.begin(), second));
  EXPECT_FALSE(std::equal(both.begin(), second, second)) << "every round has an order of its own";
}

TEST(RowPlan, no_rows_are_no_visits) { EXPECT_THAT(visits_of({}, 3, 1), testing::IsEmpty()); }

}  // namespace
}  // namespace ddpx
