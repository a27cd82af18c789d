#include "calibration/fit_box.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 1e12 flops: one of a second is 1 TFLOP/s.
constexpr Product kProduct{Pass::forward, DType::fp32, 500, 1e5, 1e4};

RankLoad rank(double seconds) {
  RankLoad load;
  load.seconds = {seconds, seconds, seconds, seconds};
  return load;
}

Measurements loaded(std::initializer_list<double> seconds) {
  Measurements m;
  LoadSample sample{kProduct, Clocks::burst, {}};
  for (const double s : seconds) sample.ranks.push_back(rank(s));
  m.loads.push_back(sample);
  return m;
}

TEST(BoxNotes, say_nothing_of_what_was_not_measured) { EXPECT_TRUE(box_notes({}).empty()); }

TEST(BoxNotes, name_the_gpu_that_is_slower_than_the_others_with_its_clocks) {
  Measurements m = loaded({0.5, 0.5, 0.55, 0.5});
  m.loads[0].ranks[2].clock_mhz = 1500;
  m.loads[0].ranks[2].power_w = 300;
  m.loads[0].ranks[2].power_limit_w = 310;
  m.loads[0].ranks[2].slowed_by = "power limit";
  m.loads[0].ranks[2].dropped = {{0.9, "slowed"}};
  EXPECT_THAT(box_notes(m),
              ElementsAre("fp32 products on 4 GPUs at once, burst: 2, 2, 1.82, 2 TFLOP/s; GPU 2 "
                          "is the odd one, 10 % slower than the others (1500 MHz, 300 W, of 310 W, "
                          "slowed by power limit); 1 slowed windows kept apart"));
}

TEST(BoxNotes, of_two_gpus_name_the_slower) {
  EXPECT_THAT(box_notes(loaded({0.6, 0.5})), ElementsAre(HasSubstr("GPU 0 is the odd one, 20 %")));
}

TEST(BoxNotes, name_nobody_where_gpus_differ_as_boards_do) {
  EXPECT_THAT(box_notes(loaded({0.5, 0.51, 0.505})), ElementsAre(Not(HasSubstr("odd one"))));
  EXPECT_THAT(box_notes(loaded({0.5})),
              ElementsAre("fp32 products on 1 GPU at once, burst: 2 TFLOP/s"));
}

TEST(BoxNotes, say_what_half_a_minute_costs_by_its_last_quarter) {
  Measurements m = loaded({0.5, 0.5});
  LoadSample sustained{kProduct, Clocks::sustained, {rank(0.5), rank(0.5)}};
  sustained.ranks[1].seconds = {0.5, 0.5, 0.55, 0.6};
  m.loads.push_back(sustained);
  EXPECT_THAT(box_notes(m).back(), "products of half a minute take 1.200 times those of a burst");
}

TEST(BoxNotes, give_the_range_of_pairs_and_name_a_slow_one) {
  Measurements m;
  m.pairs = {{0, 1, Bytes(1e9), {0.01}}, {0, 2, Bytes(1e9), {0.02}}, {1, 2, Bytes(1e9), {0.01}}};
  EXPECT_THAT(box_notes(m),
              ElementsAre(AllOf(HasSubstr("3 pairs of GPUs"), HasSubstr("50 to 100 GB/s"),
                                HasSubstr("GPUs 0 and 2 are the slowest, 2.00"))));
  m.pairs.resize(1);
  EXPECT_THAT(box_notes(m),
              ElementsAre("1 pair of GPUs, each way while both send: 100 to 100 GB/s"));
}

TEST(BoxNotes, give_both_slowdowns_of_a_copy_beside_a_collective) {
  Measurements m;
  CopyBesideSample sample;
  sample.link = "nvlink";
  sample.copy.bytes = kMiB * 64;
  sample.call.bytes = kMiB * 25;
  sample.copy_alone_seconds = {1.0};
  sample.copy_beside_seconds = {1.25};
  sample.collective_alone_seconds = {2.0};
  sample.collective_beside_seconds = {2.1};
  sample.kernel_share = 0.5;
  m.copy_besides = {sample};
  EXPECT_THAT(
      box_notes(m),
      ElementsAre("nvlink: a copy of 64 MiB beside all_reduce of 25 MiB takes 1.25 times its "
                  "time, the collective 1.05, by kernel records"));
}

TEST(BoxNotes, give_the_sizes_from_which_on_nccl_does_something_else) {
  Measurements m;
  const auto add = [&](double bytes, CollectiveRun run) {
    CollectiveSample sample;
    sample.link = "nvlink";
    sample.call.bytes = Bytes(bytes);
    sample.reported = std::move(run);
    m.collectives.push_back(sample);
  };
  add(4096, {"RING", "LL", 1});
  add(8192, {"RING", "LL", 1});
  add(1048576, {"RING", "SIMPLE", 24});
  add(512, {"TREE", "LL", 0});
  EXPECT_THAT(box_notes(m),
              ElementsAre("nvlink all_reduce fp32 as NCCL reports: TREE LL from 0 KiB, RING LL on "
                          "1 from 4 KiB, RING SIMPLE on 24 from 1 MiB"));
}

}  // namespace
}  // namespace ddpx
