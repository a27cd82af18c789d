#include "profiler/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpx {
namespace {

using testing::HasSubstr;

const WatchLimits kLimits{};

std::vector<RankStatus> healthy(int ranks) {
  std::vector<RankStatus> all;
  for (int rank = 0; rank < ranks; ++rank) {
    RankStatus status;
    status.rank = rank;
    status.state = RankState::running;
    status.alive = true;
    status.since_beat = Seconds(0.1);
    status.since_tick = Seconds(0.2);
    status.ticks = 10;
    status.operation = "copy of 4 B";
    all.push_back(status);
  }
  return all;
}

std::string said(const std::vector<RankStatus>& ranks, double since_start = 5) {
  const auto failure = diagnose(ranks, Seconds(since_start), kLimits);
  return failure ? sentence(*failure) : "all is well";
}

TEST(Watch, healthy_ranks_are_left_alone) { EXPECT_EQ(said(healthy(4)), "all is well"); }

TEST(Watch, ranks_that_finished_are_left_alone_dead_or_alive) {
  auto ranks = healthy(2);
  ranks[0].state = ranks[1].state = RankState::finished;
  ranks[1].alive = false;
  ranks[1].since_beat = ranks[1].since_tick = Seconds(1000);
  EXPECT_EQ(said(ranks), "all is well");
}

TEST(Watch, a_rank_that_vanished_is_named_with_its_operation) {
  auto ranks = healthy(3);
  ranks[1].alive = false;
  EXPECT_EQ(said(ranks), "rank 1 was killed in copy of 4 B");
}

TEST(Watch, a_rank_whose_link_hung_says_so_and_the_failure_knows_it) {
  auto ranks = healthy(2);
  ranks[1].state = RankState::link_hung;
  ranks[1].problem = "GPUs 0 and 1: nothing arrived";
  EXPECT_EQ(said(ranks), "rank 1 failed: GPUs 0 and 1: nothing arrived in copy of 4 B");
  EXPECT_TRUE(diagnose(ranks, Seconds(5), kLimits)->link_hung);
  ranks[1].state = RankState::failed;
  EXPECT_FALSE(diagnose(ranks, Seconds(5), kLimits)->link_hung);
}

TEST(Watch, a_vanished_rank_comes_before_peers_that_failed_because_of_it) {
  auto ranks = healthy(3);
  ranks[0].state = RankState::failed;
  ranks[0].problem = "connection reset";
  ranks[1].state = RankState::terminated;
  ranks[2].alive = false;
  EXPECT_THAT(said(ranks), HasSubstr("rank 2 was killed"));
}

TEST(Watch, of_ranks_that_left_the_first_is_named) {
  auto ranks = healthy(2);
  ranks[0].state = RankState::terminated;
  ranks[0].left_at = Seconds(20.5);
  ranks[1].state = RankState::exited;
  ranks[1].left_at = Seconds(20.1);
  EXPECT_EQ(said(ranks), "rank 1 ended in the middle in copy of 4 B");
}

TEST(Watch, a_rank_that_failed_says_why) {
  auto ranks = healthy(2);
  ranks[1].state = RankState::failed;
  ranks[1].problem = "out of memory";
  EXPECT_EQ(said(ranks), "rank 1 failed: out of memory in copy of 4 B");
}

TEST(Watch, what_a_rank_refuses_is_the_users_to_mend) {
  auto ranks = healthy(2);
  ranks[0].state = RankState::refused;
  ranks[0].problem = "--budget: too short";
  const auto failure = diagnose(ranks, Seconds(1), kLimits);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->refusal, "--budget: too short");
}

TEST(Watch, a_rank_without_a_beat_is_stopped) {
  auto ranks = healthy(2);
  ranks[1].since_beat = kLimits.silence;
  EXPECT_EQ(said(ranks), "all is well");
  ranks[1].since_beat = Seconds(4.1);
  EXPECT_THAT(said(ranks), HasSubstr("rank 1 is stopped: no sign of life for 4 s"));
}

TEST(Watch, one_rank_that_gets_on_keeps_the_others_from_being_called_stuck) {
  auto ranks = healthy(3);
  ranks[0].since_tick = ranks[1].since_tick = Seconds(100);
  EXPECT_EQ(said(ranks), "all is well");
}

TEST(Watch, of_stuck_ranks_the_one_that_waits_for_nobody_is_named) {
  auto ranks = healthy(3);
  for (RankStatus& rank : ranks) {
    rank.since_tick = Seconds(9);
    rank.waiting = rank.rank != 2;
  }
  EXPECT_THAT(said(ranks), HasSubstr("rank 2 has not got on for 9 s"));
}

TEST(Watch, of_ranks_that_all_wait_the_one_behind_is_named) {
  auto ranks = healthy(3);
  for (RankStatus& rank : ranks) {
    rank.since_tick = Seconds(7.9);
    rank.waiting = true;
  }
  ranks[1].ticks = 8;
  EXPECT_EQ(said(ranks), "all is well");
  for (RankStatus& rank : ranks) rank.since_tick = Seconds(8.1);
  EXPECT_EQ(said(ranks), "rank 1 has waited for the others for 8 s in copy of 4 B");
}

TEST(Watch, a_rank_that_does_not_come_is_named_after_the_time_for_starting) {
  auto ranks = healthy(2);
  ranks[1].state = RankState::absent;
  ranks[1].alive = false;
  ranks[1].operation.clear();
  EXPECT_EQ(said(ranks, 7), "all is well");
  EXPECT_EQ(said(ranks, 9), "rank 1 did not start within 8 s");
}

TEST(Watch, before_its_first_tick_a_rank_has_the_time_for_starting) {
  auto ranks = healthy(1);
  ranks[0].ticks = 0;
  ranks[0].since_tick = Seconds(15);
  EXPECT_EQ(said(ranks, 15), "all is well");
  ranks[0].since_tick = Seconds(21);
  EXPECT_THAT(said(ranks, 15), HasSubstr("rank 0"));
}

}  // namespace
}  // namespace ddpx
