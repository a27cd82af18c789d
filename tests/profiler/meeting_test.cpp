#include "profiler/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "model/error.hpp"
#include "profiler/job_names.hpp"

namespace ddpx {
namespace {

class MeetingOfThreads : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/meeting-" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] RankPlace place(int rank, int ranks) const {
    return {rank, ranks, rank, ranks, directory_, 0, "job"};
  }

  void as_ranks(int ranks, const std::function<void(Meeting&)>& work) const {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Meeting meeting(place(rank, ranks), Seconds(20));
        work(meeting);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::string directory_;
};

TEST_F(MeetingOfThreads, gives_every_rank_the_largest_of_each_value) {
  std::vector<std::vector<double>> seen(4);
  as_ranks(4, [&](Meeting& meeting) {
    const double rank = meeting.rank();
    std::vector<double> values{rank, -rank, 7};
    meeting.maximum(values);
    seen[static_cast<std::size_t>(meeting.rank())] = values;
  });
  EXPECT_THAT(seen, testing::Each(std::vector<double>{3, 0, 7}));
}

TEST_F(MeetingOfThreads, hands_rank_zeros_bytes_to_all) {
  std::vector<std::string> seen(3);
  as_ranks(3, [&](Meeting& meeting) {
    std::string text = meeting.rank() == 0 ? "an id of 16 B..." : std::string(16, '?');
    meeting.broadcast(std::as_writable_bytes(std::span(text)));
    meeting.barrier();
    seen[static_cast<std::size_t>(meeting.rank())] = text;
  });
  EXPECT_THAT(seen, testing::Each("an id of 16 B..."));
}

TEST_F(MeetingOfThreads, leaves_no_file_behind) {
  as_ranks(2, [](Meeting& meeting) { meeting.barrier(); });
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(MeetingOfThreads, of_one_rank_needs_nobody) {
  Meeting alone(place(0, 1));
  std::vector<double> values{1, 2};
  alone.maximum(values);
  EXPECT_THAT(values, testing::ElementsAre(1, 2));
}

TEST_F(MeetingOfThreads, says_who_has_not_come) {
  EXPECT_THAT([this] { Meeting(place(0, 3), Seconds(0.2)); },
              testing::ThrowsMessage<DeviceError>(testing::HasSubstr("2 of 2 have not come")));
  EXPECT_THAT([this] { Meeting(place(1, 3), Seconds(0.2)); },
              testing::ThrowsMessage<DeviceError>(testing::HasSubstr("looking for rank 0")));
}

TEST_F(MeetingOfThreads, says_when_a_rank_has_left) {
  std::vector<std::string> messages(2);
  as_ranks(2, [&](Meeting& meeting) {
    if (meeting.rank() == 1) return;
    try {
      for (int i = 0; i < 100; ++i) meeting.barrier();
    } catch (const DeviceError& error) {
      messages[0] = error.what();
    }
  });
  EXPECT_THAT(messages[0], testing::HasSubstr("left"));
}

TEST_F(MeetingOfThreads, turns_strangers_away) {
  // A rank of another job, told of this one's port, is no rank of this one.
  std::thread zero([this] { Meeting meeting(place(0, 2), Seconds(20)); });
  while (!std::filesystem::exists(directory_ + "/" + kMeetingName)) std::this_thread::yield();
  const std::string other = directory_ + "-other";
  std::filesystem::create_directories(other);
  std::filesystem::copy_file(directory_ + "/" + kMeetingName, other + "/" + kMeetingName);
  RankPlace stranger = place(1, 2);
  stranger.directory = other;
  EXPECT_THAT([&] { Meeting(stranger, Seconds(0.5)); },
              testing::ThrowsMessage<DeviceError>(testing::HasSubstr(
                  "looking for rank 0: what answers at this host is another job's rank 0")));
  Meeting right(place(1, 2), Seconds(20));
  zero.join();
  std::filesystem::remove_all(other);
}

TEST(MeetingAcrossHosts, needs_to_be_told_where) {
  ::unsetenv("MASTER_ADDR");
  EXPECT_THAT(
      [] {
        Meeting(RankPlace{0, 4, 0, 2, "", 0, "job"}, Seconds(0.2));
      },
      testing::ThrowsMessage<DeviceError>(testing::HasSubstr("MASTER_ADDR")));
}

TEST(RankPlaceOfLaunchers, is_read_from_each_of_them) {
  const auto with = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    const auto place = rank_place();
    for (const auto& [name, value] : variables) ::unsetenv(name);
    return place;
  };
  EXPECT_FALSE(with({}));
  const auto torchrun = with({{"RANK", "5"},
                              {"WORLD_SIZE", "8"},
                              {"LOCAL_RANK", "1"},
                              {"LOCAL_WORLD_SIZE", "4"},
                              {"MASTER_ADDR", "host"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_RUN_ID", "none"}});
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->job, "none.host.29500");
  EXPECT_EQ(torchrun->rank, 5);
  EXPECT_EQ(torchrun->rank_on_host, 1);
  EXPECT_EQ(torchrun->ranks_on_host, 4);
  const auto srun = with({{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_JOB_ID", "77"},
                          {"SLURM_STEP_ID", "2"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->rank, 3);
  EXPECT_EQ(srun->job, "77.2");
  // By hand, on two hosts: no process is there that would be the same on both.
  const auto by_hand = with({{"RANK", "1"},
                             {"WORLD_SIZE", "2"},
                             {"LOCAL_RANK", "0"},
                             {"LOCAL_WORLD_SIZE", "1"},
                             {"MASTER_ADDR", "host"},
                             {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(by_hand);
  EXPECT_EQ(by_hand->job, ".host.29500");
  // A batch script is no rank, and a shell's RANK no launcher.
  EXPECT_FALSE(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(with({{"RANK", "0"}, {"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(
      with({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "h"}}));
}

}  // namespace
}  // namespace ddpx
