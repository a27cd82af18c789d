#include "profiler/rank_board.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace ddpx {
namespace {

TEST(RankBoard, places_of_an_earlier_job_whose_ranks_were_killed_are_empty_again) {
  const std::string path = testing::TempDir() + "/board-" + std::to_string(::getpid());
  RankBoard board(path, 3);
  board.arrive(0, 0);
  const pid_t killed = ::fork();
  if (killed == 0) {
    RankBoard(path, 3).arrive(1, 1);
    ::_exit(9);
  }
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  EXPECT_EQ(board.look()[1].state, RankState::running);
  EXPECT_FALSE(board.look()[1].alive);

  RankBoard next(path, 3);
  next.clear_ended();
  EXPECT_EQ(next.look()[0].state, RankState::running);
  EXPECT_TRUE(next.look()[0].alive);
  EXPECT_EQ(next.look()[1].state, RankState::absent);
  next.arrive(1, 1);
  EXPECT_EQ(next.look()[1].state, RankState::running);
  EXPECT_TRUE(next.look()[1].alive);
  std::filesystem::remove(path);
}

TEST(RankBoard, a_rank_that_comes_again_brings_nothing_of_before) {
  const std::string path = testing::TempDir() + "/board-again-" + std::to_string(::getpid());
  RankBoard board(path, 1);
  board.arrive(0, 0);
  board.problem(0, "no GPU");
  board.waiting(0, true);
  board.leave(0, RankState::failed);
  board.arrive(0, 0);
  const RankStatus status = board.look()[0];
  EXPECT_EQ(status.state, RankState::running);
  EXPECT_EQ(status.problem, "");
  EXPECT_FALSE(status.waiting);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpx
