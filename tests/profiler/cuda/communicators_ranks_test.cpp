// NCCL between ranks: setting up again and again leaks nothing, a peer that does not answer is
// noticed in time and left, and GPUs of two hosts reach each other over the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "profiler/cuda/communicator.hpp"
#include "profiler/cuda/nccl_log.hpp"
#include "profiler/cuda/nccl_logging.hpp"
#include "profiler/cuda/site.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::cuda {
namespace {

constexpr std::size_t kElements = 1 << 18;

double open_files() {
  double count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// DDPX_COMMUNICATORS=1000 for the long run; a set-up took 0.7 s on two H200.
int set_ups() {
  const char* const text = std::getenv("DDPX_COMMUNICATORS");
  return text == nullptr ? 12 : std::atoi(text);
}

TEST(Communicators, set_up_and_used_again_and_again_leave_nothing_behind) {
  Pulse quiet;
  Site site(quiet);
  if (site.ranks() == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const Memory memory = allocate_memory(kElements * sizeof(float));
  const Elements all{memory.get(), kElements, DType::fp32};
  Meeting meeting(rank_place().value());
  const auto once = [&] {
    {
      Communicator communicator(meeting);
      communicator.issue(Collective::all_reduce, all, all, site.gpu().communication());
      site.finish();
      site.barrier();  // none is taken down while a peer still uses it
    }
    site.barrier();  // a peer's is gone too where both are on one GPU, whose memory is counted
  };
  constexpr int kBefore = 20;  // libraries have taken what they keep
  for (int i = 0; i < kBefore; ++i) once();
  const std::array before{test::device_bytes(), test::host_bytes(), open_files()};
  const int count = set_ups();
  for (int i = 0; i < count; ++i) once();
  std::array growth{test::device_bytes() - before[0], test::host_bytes() - before[1],
                    open_files() - before[2]};
  site.maximum(growth);
  if (site.rank() == 0)
    std::printf("%d set-ups: device %+.0f B, host %+.0f B, files %+.0f\n", count, growth[0],
                growth[1], growth[2]);
  // A communicator holds megabytes of buffers and dozens of files: one lost in ten would show.
  EXPECT_LE(growth[0], 4e6);
  EXPECT_LE(growth[1], 4e6 + 4e3 * count);
  EXPECT_LE(growth[2], 2);
}

TEST(Communicators, a_peer_that_does_not_answer_is_noticed_in_time_and_can_be_left) {
  Pulse quiet;
  Site site(quiet);
  if (site.ranks() == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const Memory memory = allocate_memory(2 * kElements * sizeof(float));
  const Elements from{memory.get(), kElements, DType::fp32};
  const Elements to{static_cast<float*>(memory.get()) + kElements, kElements, DType::fp32};
  const int peer = 1 - site.rank();
  const auto exchange = [&] {
    site.communicator().exchange(peer, from, to, site.gpu().communication());
  };
  if (peer >= 0) exchange();  // makes the connection
  EXPECT_TRUE(site.finish_within(Seconds(20)));
  site.barrier();
  double hung = 0;
  if (site.rank() == 0) {
    exchange();
    hung = site.finish_within(Seconds(0.5)) ? 0 : 1;
  }
  site.maximum(std::span(&hung, 1));
  EXPECT_EQ(hung, 1);
  site.communicator().abort();
  site.finish();  // nothing waits any more
}

TEST(Communicators, gpus_of_two_hosts_reach_each_other_over_the_network) {
  if (std::getenv("NCCL_HOSTID") == nullptr) GTEST_SKIP() << "NCCL_HOSTID names no other host";
  Pulse quiet;
  Site site(quiet);
  ASSERT_EQ(site.hardware().link->topology, Topology::network);
  const Memory memory = allocate_memory(kElements * sizeof(float));
  const Elements all{memory.get(), kElements, DType::fp32};
  const auto logging = NcclLogging::start();
  Meeting meeting(rank_place().value());
  Communicator communicator(meeting);
  communicator.issue(Collective::all_reduce, all, all, site.gpu().communication());
  site.finish();
  ASSERT_TRUE(logging);
  const NcclLog log = read_nccl_log(logging->fresh());
  ASSERT_FALSE(log.transports.empty());
  for (const auto& [transport, connections] : log.transports)
    EXPECT_THAT(transport, testing::StartsWith("NET/"));
}

TEST(NcclsOwnLog, tells_how_a_collective_ran_and_is_silent_and_gone_afterwards) {
  Pulse quiet;
  Site site(quiet);
  if (site.ranks() == 1) GTEST_SKIP() << "one rank has nobody to communicate with";
  const Memory memory = allocate_memory(kElements * sizeof(float));
  const Elements all{memory.get(), kElements, DType::fp32};
  const auto run = [&] {
    site.communicator().issue(Collective::all_reduce, all, all, site.gpu().communication());
    site.finish();
  };
  run();
  {
    const auto logging = site.rank() == 0 ? NcclLogging::start() : nullptr;
    run();
    if (site.rank() == 0) {
      ASSERT_TRUE(logging);
      const NcclLog log = read_nccl_log(logging->fresh());
      ASSERT_EQ(log.choices.size(), 1U);
      EXPECT_EQ(log.choices[0].bytes, kElements * sizeof(float));
      EXPECT_THAT(log.choices[0].protocol, testing::AnyOf("LL", "LL128", "SIMPLE"));
      EXPECT_GT(log.choices[0].channels.value_or(0), 0);
      EXPECT_EQ(logging->fresh(), "");
    }
  }
  EXPECT_EQ(std::getenv("NCCL_DEBUG"), nullptr);
  run();
}

}  // namespace
}  // namespace ddpx::cuda
