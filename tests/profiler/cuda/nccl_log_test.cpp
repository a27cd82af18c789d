// Lines in the formats of NCCL 2.18 to 2.30: as in src/init.cc, src/enqueue.cc and
// src/scheduler/symmetric_sched.h, and as users' logs show them. No log of a device of our own.

#include "profiler/cuda/nccl_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpx::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr std::string_view kTwoH200 = R"(NCCL version 2.28.9+cuda13.0
gpu:100:100 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.
gpu:101:101 [1] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.
gpu:100:120 [0] NCCL INFO Channel 00/24 : 0 1
gpu:100:120 [0] NCCL INFO Channel 23/24 : 0 1
gpu:100:120 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
gpu:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
gpu:101:121 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM
gpu:100:120 [0] NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 512 | 512
gpu:100:120 [0] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer
gpu:100:100 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
gpu:100:100 [0] NCCL INFO AllReduce: 26214400 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}
gpu:100:100 [0] NCCL INFO AllGather: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..11}
)";

TEST(NcclLog, a_plain_log_gives_channels_transport_switches_and_choices) {
  const NcclLog log = read_nccl_log(kTwoH200);
  EXPECT_EQ(log.version, "2.28.9");
  EXPECT_EQ(log.channels, 24);
  EXPECT_EQ(log.nvls_channels, 0);
  EXPECT_THAT(log.transports, ElementsAre(Pair("P2P/CUMEM", 2)));
  EXPECT_THAT(log.switches, ElementsAre(Pair("NCCL_NVLS_ENABLE", "0")));
  ASSERT_THAT(log.choices, SizeIs(3));
  const NcclChoice* bucket = log.find(Collective::all_reduce, 26214400);
  ASSERT_NE(bucket, nullptr);
  EXPECT_EQ(bucket->algorithm, "RING");
  EXPECT_EQ(bucket->protocol, "SIMPLE");
  EXPECT_EQ(bucket->channels, 24);
  EXPECT_EQ(log.find(Collective::all_reduce, 4096)->channels, 1);
  EXPECT_EQ(log.find(Collective::all_gather, 1048576)->protocol, "LL128");
  EXPECT_EQ(log.find(Collective::reduce_scatter, 4096), nullptr);
  EXPECT_THAT(log.warnings, IsEmpty());
}

NcclLog message(const std::string& text) {
  return read_nccl_log("host:1:2 [0] NCCL INFO " + text + "\n");
}

TEST(NcclLog, the_number_of_channels_reads_in_every_versions_words) {
  EXPECT_EQ(message("4 coll channels, 4 p2p channels, 4 p2p channels per peer").channels, 4);
  EXPECT_EQ(message("16 coll channels, 16 nvls channels, 16 p2p channels, 16 p2p channels per peer")
                .nvls_channels,
            16);
  EXPECT_EQ(message("comm 0x55a7a339db50, 16 coll channels, 16 collnet channels, 0 nvls channels, "
                    "16 p2p channels, 2 p2p channels per peer")
                .channels,
            16);
  EXPECT_EQ(message("Channel 00/02 :    0   1").channels, 2);
  EXPECT_EQ(message("Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct").channels, std::nullopt);
}

TEST(NcclLog, transports_are_named_by_kind_and_way) {
  EXPECT_THAT(message("Channel 01 : 0[0] -> 1[1] via SHM/direct/direct").transports,
              ElementsAre(Pair("SHM/direct", 1)));
  EXPECT_THAT(message("Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0").transports,
              ElementsAre(Pair("NET/Socket", 1)));
  EXPECT_THAT(message("Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer/read").transports,
              ElementsAre(Pair("P2P/direct pointer", 1)));
}

TEST(NcclLog, numbers_of_older_versions_are_names) {
  const NcclLog log = message("AllReduce: 64 Bytes -> Algo 1 proto 0 time 8.207382");
  ASSERT_NE(log.find(Collective::all_reduce, 64), nullptr);
  EXPECT_EQ(log.find(Collective::all_reduce, 64)->algorithm, "RING");
  EXPECT_EQ(log.find(Collective::all_reduce, 64)->protocol, "LL");
  EXPECT_EQ(log.find(Collective::all_reduce, 64)->channels, std::nullopt);
  const NcclLog nameless = message("64 Bytes -> Algo 0 proto 2 time 25.207382");
  ASSERT_THAT(nameless.choices, SizeIs(1));
  EXPECT_EQ(nameless.choices[0].collective, std::nullopt);
  EXPECT_EQ(nameless.choices[0].algorithm, "TREE");
  EXPECT_THAT(message("64 Bytes -> Algo 9 proto 0 time 1").choices, IsEmpty());
}

TEST(NcclLog, newer_words_read_too) {
  const NcclLog mixed =
      message("AllReduce: 4194304 Bytes -> Algo Tree proto Simple channel{Lo..Hi}={0..7} comm 0x1");
  EXPECT_EQ(mixed.find(Collective::all_reduce, 4194304)->algorithm, "TREE");
  EXPECT_EQ(mixed.find(Collective::all_reduce, 4194304)->protocol, "SIMPLE");
  const NcclLog symmetric = message(
      "AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512 "
      "nWorks "
      "1");
  const NcclChoice* choice = symmetric.find(Collective::all_reduce, 4096);
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->algorithm, "SYMMETRIC");
  EXPECT_EQ(choice->protocol, "AllReduce_AGxLL_R");
  EXPECT_EQ(choice->channels, 4);
}

// A user's log (nccl-tests, one stream for two ranks): a row and two ranks' messages in one line.
TEST(NcclLog, two_messages_in_one_line_and_foreign_prefixes_do_not_hide_each_other) {
  const NcclLog log = read_nccl_log(
      "[1,0]<stdout>:          64            16     float     sum      -1[0] HOST-A:10:10 [0] NCCL "
      "INFO 64 Bytes -> Algo 0 proto 0 time 25.2\r\n"
      "[default0]:[2026-01-01 00:00:00] h:1:2 [0] NCCL INFO Channel 00/04 : 0 1h:1:3 [1] NCCL INFO "
      "4 "
      "coll channels, 0 nvls channels, 4 p2p channels, 4 p2p channels per peer\n");
  EXPECT_EQ(log.choices.at(0).bytes, 64);
  EXPECT_EQ(log.channels, 4);
}

TEST(NcclLog, half_a_message_is_no_message) {
  const std::string whole =
      "h:1:2 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 "
      "channel{Lo..Hi}={0..23}\n";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_THAT(read_nccl_log(whole.substr(0, n)).choices, IsEmpty()) << n;
    if (n + 1 == whole.size()) continue;  // the whole line again
    EXPECT_THAT(read_nccl_log(whole.substr(0, n) + "\n").choices, IsEmpty()) << n;
  }
  EXPECT_THAT(read_nccl_log(whole).choices, SizeIs(1));
}

TEST(NcclLog, impossible_numbers_are_no_answer) {
  EXPECT_EQ(message("99999999999999999999 coll channels, 4 p2p channels, 4 p2p").channels,
            std::nullopt);
  EXPECT_EQ(message("-1 coll channels, 4 p2p channels, x").channels, std::nullopt);
  for (const char* range : {"{5..3}", "{0..64}", "{-1..3}", "{0..x}"}) {
    EXPECT_THAT(
        message("AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}=" + std::string(range))
            .choices,
        IsEmpty())
        << range;
  }
  EXPECT_THAT(message("AllReduce: -64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}").choices,
              IsEmpty());
  EXPECT_THAT(message("Broadcast: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}").choices,
              IsEmpty());
}

TEST(NcclLog, the_last_choice_of_a_size_counts) {
  const NcclLog log = read_nccl_log(
      "NCCL INFO AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"
      "NCCL INFO AllReduce: 64 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n");
  ASSERT_THAT(log.choices, SizeIs(1));
  EXPECT_EQ(log.choices[0].algorithm, "TREE");
}

TEST(NcclLog, warnings_are_kept_once_and_not_without_end) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "h:1:2 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left\n";
    text += "h:1:2 [0] x.cc:1 NCCL WARN number " + std::to_string(i) + "\n";
  }
  const NcclLog log = read_nccl_log(text);
  EXPECT_THAT(log.warnings, SizeIs(NcclLog::kMostWarnings));
  EXPECT_EQ(log.warnings[0], "Call to posix_fallocate failed : No space left");
}

TEST(NcclLog, hostile_input_takes_no_time_and_gives_nothing) {
  std::string text(1 << 20, 'x');
  text += "\n";
  for (int i = 0; i < 100000; ++i) text += "NCCL INFO ";
  text += "\n";
  text += std::string("NCCL INFO \0 Channel 00/04 :\n", 29) + "NCCL INFO\nNCCL \n\xff\xfe\n";
  const NcclLog log = read_nccl_log(text);
  EXPECT_THAT(log.choices, IsEmpty());
  EXPECT_EQ(log.channels, std::nullopt);
  EXPECT_EQ(read_nccl_log("").version, std::nullopt);
}

}  // namespace
}  // namespace ddpx::cuda
