// How long a kernel takes of which a collective shares a part, block by block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <vector>

#include "model/contention.hpp"
#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

using test::kSms;

// Every block put on the slot that is free first; the collective's slots open when it ends.
double place_blocks(double alone, const KernelGrid& grid, int sms, int channels, double beside) {
  const int open = std::max(1, sms - channels);
  std::priority_queue<double, std::vector<double>, std::greater<>> slots;
  for (int i = 0; i < sms; ++i) slots.push(i < open ? 0.0 : std::max(0.0, beside));
  const double block = alone / waves(grid, sms);
  double end = 0;
  for (int b = 0; b < static_cast<int>(grid.blocks); ++b) {
    const double done = slots.top() + block;
    slots.pop();
    slots.push(done);
    end = std::max(end, done);
  }
  return end;
}

TEST(BesideCollective, is_the_time_of_placing_every_block) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 3000; ++round) {
    const int sms = 1 + static_cast<int>(unit(random) * 140);
    const int channels = static_cast<int>(unit(random) * (sms + 4));
    KernelGrid grid;
    grid.blocks = 1 + std::floor(unit(random) * 1500);
    const double alone = 1e-5 + unit(random) * 1e-3;
    const double beside = unit(random) * 3 * alone - 0.1 * alone;
    const double expected = place_blocks(alone, grid, sms, channels, beside);
    const double time =
        beside_collective(Seconds(alone), grid, sms, channels, Seconds(beside)).time.value();
    ASSERT_NEAR(time, expected, 1e-9 * expected)
        << sms << " multiprocessors, " << channels << " channels, " << grid.blocks
        << " blocks, beside " << beside / alone;
  }
}

TEST(BesideCollective, lies_between_alone_and_slowed_throughout_and_grows_with_the_collective) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 500; ++round) {
    const int channels = 1 + static_cast<int>(unit(random) * 40);
    const KernelGrid grid{1 + std::floor(unit(random) * 5000),
                          1 + std::floor(unit(random) * 4),
                          unit(random) < 0.2,
                          {},
                          std::floor(unit(random) * 600)};
    const WaveCost cost{0.5 * unit(random), unit(random)};
    const double slowdown = wave_slowdown(grid, kSms, channels, cost);
    double last = 0;
    for (double beside = -0.5; beside < 3.2; beside += 0.05) {
      const double time =
          beside_collective(Seconds(1), grid, kSms, channels, Seconds(beside), cost).time.value();
      ASSERT_GE(time, 1.0 - 1e-12);
      ASSERT_LE(time, slowdown + 1e-12);
      ASSERT_GE(time, last - 1e-12);
      last = time;
    }
    ASSERT_DOUBLE_EQ(last, slowdown);
  }
}

// One block of each multiprocessor's two that share it is there from the start: the collective's
// end changes nothing, and leaves room at once. Kernel records of two H200: a forward product of
// 256 x 2048 -> 2048, 58 us alone, took 107 us less its 12 of elementwise work beside an all-gather
// of 90 us.
TEST(BesideCollective, keeps_blocks_where_they_were_placed) {
  const KernelGrid grid{128, 2, false};
  for (const double beside : {1e-6, 20e-6, 90e-6, 1.0}) {
    const BesideCollective kernel =
        beside_collective(Seconds(58e-6), grid, kSms, 24, Seconds(beside));
    EXPECT_NEAR(kernel.time.value(), 95e-6, 0.3e-6);
    EXPECT_EQ(kernel.room.value(), 0);
  }
}

// 128 blocks of 55 us on 108 multiprocessors: 20 are left, and begin when the collective's 24 are
// free, 26 us into it. The next collective finds four then, and 108 at 55 us.
TEST(BesideCollective, leaves_room_for_the_next_when_a_wave_has_ended) {
  const KernelGrid grid{128, 1, false};
  const BesideCollective kernel = beside_collective(Seconds(55e-6), grid, kSms, 24, Seconds(26e-6));
  EXPECT_DOUBLE_EQ(kernel.time.value(), 81e-6);
  EXPECT_DOUBLE_EQ(kernel.room.value(), 55e-6);
  // Beside eight channels four blocks are left: the eight that come free are enough for both.
  const BesideCollective few = beside_collective(Seconds(55e-6), grid, kSms, 8, Seconds(26e-6));
  EXPECT_DOUBLE_EQ(few.time.value(), 81e-6);
  EXPECT_DOUBLE_EQ(few.room.value(), 55e-6);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(55e-6), grid, kSms, 4, Seconds(26e-6)).room.value(),
                   0);
  // Without one beside it, as room_after.
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(4), {512, 1, false}, kSms, 4, Seconds(0)).room.value(),
                   3);
}

TEST(BesideCollective, slows_even_work_by_its_share_of_the_time) {
  // Half of two seconds beside, at 1/1.25 speed: 0.8 done there, 1.2 left.
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(2), 1.25, Seconds(1)).value(), 2.2);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(2), 1.25, Seconds(99)).value(), 2.5);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(2), 1.25, Seconds(0)).value(), 2.0);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(2), 1.25, Seconds(-1)).value(), 2.0);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(2), 0.9, Seconds(1)).value(), 2.0);
  EXPECT_DOUBLE_EQ(beside_collective(Seconds(0), 1.25, Seconds(1)).value(), 0.0);
}

TEST(BesideCollective, ends_on_numbers_that_cannot_be) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (double wild : {nan, inf, 0.0, -1.0, 1e300, 1e-300}) {
    static_cast<void>(beside_collective(Seconds(wild), {512, 1, false}, kSms, 24, Seconds(0.5)));
    static_cast<void>(beside_collective(Seconds(1), {512, 1, false}, kSms, 24, Seconds(wild)));
    static_cast<void>(beside_collective(Seconds(1), {wild, 1, false}, kSms, 24, Seconds(0.5)));
    static_cast<void>(beside_collective(Seconds(1), {512, wild, false}, kSms, 24, Seconds(0.5)));
  }
}

// Kernel records of PyTorch steps on two H200 (width 4096, batch 1024, 4 channels over host
// memory): the weight gradient's 512 blocks of one per multiprocessor fill three waves and leave 16
// multiprocessors free in the fourth; collectives began 502 of 740 us into it.
TEST(RoomAfter, is_the_beginning_of_a_last_wave_that_leaves_multiprocessors_free) {
  EXPECT_DOUBLE_EQ(room_after({512, 1, false}, 132, 4, Seconds(4)).value(), 3);
  EXPECT_NEAR(room_after({512, 1, false}, 132, 4, Seconds(669e-6)).value(), 502e-6, 1e-6);
}

TEST(RoomAfter, is_the_end_where_the_last_wave_is_too_full_or_the_kernel_persistent) {
  EXPECT_DOUBLE_EQ(room_after({512, 1, false}, 132, 24, Seconds(4)).value(), 4);
  EXPECT_DOUBLE_EQ(room_after({132, 1, false}, 132, 1, Seconds(4)).value(), 4);
  EXPECT_DOUBLE_EQ(room_after({128, 1, true}, 132, 4, Seconds(4)).value(), 4);
  // Blocks are spread: two per multiprocessor would fit, and none is free.
  EXPECT_DOUBLE_EQ(room_after({200, 2, false}, 132, 4, Seconds(4)).value(), 4);
}

TEST(RoomAfter, is_at_once_beside_a_kernel_that_never_fills_the_gpu) {
  EXPECT_DOUBLE_EQ(room_after({64, 1, false}, 132, 24, Seconds(4)).value(), 0);
  EXPECT_DOUBLE_EQ(room_after({512, 1, false}, 132, 0, Seconds(4)).value(), 0);
}

}  // namespace
}  // namespace ddpx
