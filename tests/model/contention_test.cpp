#include "model/contention.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

using test::kSms;

struct Case {
  double blocks;
  double per_multiprocessor;
  int channels;
  double predicted;
  double measured;  // on two H200, kernel records beside NCCL's all-reduce
};

// The wave arithmetic by hand, and what kernels did: with one block per multiprocessor the formula
// has no fitted number.
TEST(WaveSlowdown, is_the_ratio_of_waves_and_what_kernels_measured) {
  for (const Case& c : std::initializer_list<Case>{
           {512, 1, 24, 5.0 / 4,
            1.26},  // width 4096 batch 256, weight gradient: ceil(512/108) / ceil(512/132)
           {128, 1, 24, 2.0, 1.98},         // the same, data gradient, grid 16 x 2 x 4
           {4096, 2, 24, 19.0 / 16, 1.20},  // width 8192
           {2304, 4, 24, 11.0 / 9, 1.22},   // width 3072: five turns of four and one of two
           {4096, 4, 8, 17.0 / 16, 1.06},   // width 4096 batch 64
           {128, 1, 4, 1.0, 1.01},          // 128 blocks fit beside four channels
       }) {
    const double slowdown =
        wave_slowdown({c.blocks, c.per_multiprocessor, false}, kSms, c.channels);
    EXPECT_DOUBLE_EQ(slowdown, c.predicted) << c.blocks;
    EXPECT_NEAR(slowdown, c.measured, 0.025 * c.measured) << c.blocks;
  }
}

// Two or three blocks where one or two would have had the multiprocessor.
TEST(WaveSlowdown, of_blocks_that_share_a_multiprocessor_is_what_kernels_measured) {
  struct Shared {
    KernelGrid grid;
    int channels;
    double measured;
  };
  for (const Shared& c : std::initializer_list<Shared>{
           {{128, 2, false}, 24, 1.64},  // width 1024, batch 1024, data gradient
           {{128, 2, false}, 8, 1.63},
           {{128, 2, false}, 4, 1.03},
           {{128, 6, false}, 24, 1.72},  // batch 64
           {{256, 4, false}, 24, 1.50},  // batch 256, weight gradient
           {{256, 4, false}, 4, 1.01},
           {{128, 4, false}, 24, 1.67},  // width 2048, batch 64
           {{4096, 4, false}, 24, 1.22},
           {{256, 2, false}, 24, 1.93},  // width 4096, batch 64: 40 blocks are left after one wave,
           {{256, 2, false}, 8, 1.62},   // and 8, of which no two meet
       }) {
    EXPECT_NEAR(wave_slowdown(c.grid, kSms, c.channels), c.measured, 0.06 * c.measured)
        << c.grid.blocks << ' ' << c.channels;
  }
}

// Rounds by hand: ceil((T - c)/(S - c)) + 1 over ceil(T/S).
TEST(WaveSlowdown, of_persistent_kernels_of_known_tiles_is_what_kernels_measured) {
  struct Persistent {
    double tiles;
    int channels;
    double rounds;
    double measured;
  };
  for (const Persistent& c : std::initializer_list<Persistent>{
           {512, 4, 5.0 / 4, 1.25},  // bf16 weight gradient, width 4096
           {512, 8, 6.0 / 4, 1.47},
           {512, 24, 6.0 / 4, 1.47},
           {2048, 4, 17.0 / 16, 1.10},  // width 8192
           {2048, 8, 18.0 / 16, 1.13},
           {2048, 24, 20.0 / 16, 1.26},
           {1024, 8, 10.0 / 8, 1.26},  // tf32 weight gradient, width 4096
           {256, 8, 3.0 / 2, 1.56},    // bf16 data gradient, width 8192
           {256, 24, 4.0 / 2, 1.83},
       }) {
    const double slowdown = wave_slowdown({132, 1, true, {}, c.tiles}, kSms, c.channels);
    EXPECT_DOUBLE_EQ(slowdown, c.rounds) << c.tiles << ' ' << c.channels;
    EXPECT_NEAR(slowdown, c.measured, 0.1 * c.measured) << c.tiles << ' ' << c.channels;
  }
}

// A further wave takes neither the start nor, where it is nearly empty, the wait for memory again;
// products of 132 multiprocessors, kernel records of two H200, memory moving 4.0 TB/s.
TEST(WaveSlowdown, leaves_out_what_a_further_wave_does_not_repeat) {
  struct Timed {
    KernelGrid grid;
    int channels;
    double alone;  // microseconds
    double bytes;  // millions
    double measured;
  };
  for (const Timed& c : std::initializer_list<Timed>{
           {{128, 1, false}, 24, 3.6, 3.1, 1.78},     // bf16 weight gradient, 256 x 1024
           {{128, 1, false}, 24, 47.0, 21, 1.94},     // fp32, 256 x 2048
           {{128, 1, false}, 24, 33.5, 136.3, 1.44},  // bf16 data gradient, 64 x 8192: all memory
           {{128, 1, false}, 8, 33.9, 136.3, 1.35},
           {{256, 2, false}, 8, 73.3, 272.6, 1.35},  // tf32
       }) {
    const WaveCost cost = wave_cost(Seconds(c.alone * 1e-6), Bytes(c.bytes * 1e6), 4.0e12);
    EXPECT_NEAR(wave_slowdown(c.grid, kSms, c.channels, cost), c.measured, 0.1 * c.measured)
        << c.alone << " us, " << c.channels << " channels";
  }
  // By hand: 1 us of 4 once, the rest twice; then half of the memory, 0.65 x 0.25 of 104/108 of it.
  const WaveCost start = wave_cost(Seconds(4e-6), Bytes(8e6), 0);
  EXPECT_DOUBLE_EQ(wave_slowdown({128, 1, false}, kSms, 8, start), 0.25 + 0.75 * 2);
  const WaveCost both = wave_cost(Seconds(4e-6), Bytes(8e6), 4e12);
  EXPECT_DOUBLE_EQ(both.memory_share, 0.5);
  EXPECT_NEAR(wave_slowdown({128, 1, false}, kSms, 8, both),
              0.25 + 0.75 * (2 - 0.65 * 0.25 * 120 / 124), 1e-12);
}

TEST(WaveSlowdown, of_a_kernel_shorter_than_its_start_counts_half) {
  EXPECT_EQ(wave_cost(Seconds(1e-7), Bytes(1), 0).start_share, 0.5);
  EXPECT_EQ(wave_cost(Seconds(0), Bytes(1), 1e12).start_share, 0);
  EXPECT_EQ(wave_cost(Seconds(1e-6), Bytes(1e12), 1e12).memory_share, 1);
}

TEST(WaveSlowdown, is_one_without_a_collective) {
  EXPECT_EQ(wave_slowdown({512, 1, false}, kSms, 0), 1.0);
  EXPECT_EQ(wave_slowdown({132, 1, true}, kSms, 0), 1.0);
  EXPECT_EQ(wave_slowdown({512, 1, false}, kSms, -3), 1.0);
}

TEST(WaveSlowdown, of_a_persistent_kernel_of_unknown_tiles_lies_in_the_measured_range) {
  const double slowdown = wave_slowdown({132, 1, true}, kSms, 24);  // measured 1.25-1.47
  EXPECT_GT(slowdown, 1.25);
  EXPECT_LT(slowdown, 1.47);
  const double few = wave_slowdown({132, 1, true}, kSms, 4);  // measured 1.06-1.26
  EXPECT_GT(few, 1.03);
  EXPECT_LT(few, 1.28);
}

TEST(WaveSlowdown, leaves_at_least_one_multiprocessor) {
  EXPECT_DOUBLE_EQ(wave_slowdown({40, 1, false}, 40, 40), 40.0);
  EXPECT_DOUBLE_EQ(wave_slowdown({40, 1, false}, 40, 400), 40.0);
  EXPECT_DOUBLE_EQ(fluid_slowdown(40, 400), 40.0);
}

TEST(Waves, count_by_hand) {
  EXPECT_EQ(waves({512, 1, false}, kSms), 4);
  EXPECT_EQ(waves({528, 1, false}, kSms), 4);
  EXPECT_EQ(waves({529, 1, false}, kSms), 5);
  EXPECT_EQ(waves({1, 8, false}, kSms), 1);
  EXPECT_DOUBLE_EQ(fluid_slowdown(kSms, 24), 132.0 / 108);
}

struct Launch {
  int threads;
  int registers;
  int shared;
  int capability;
  int resident;
};

// 300 blocks, two side by side on each of 132: 264 in a first wave and 36 in a second; of that few
// of one earlier wave two meet on a multiprocessor as often as not (36 x 35/2 pairs, 1 in 263).
TEST(BlockRounds, count_by_hand) {
  EXPECT_EQ(block_rounds({100, 1, false}, kSms).blocks, 1);
  EXPECT_EQ(block_rounds({160, 1, false}, kSms).waves, 2);
  EXPECT_EQ(block_rounds({160, 1, false}, kSms).blocks, 2);
  EXPECT_EQ(block_rounds({300, 2, false}, kSms).waves, 2);
  EXPECT_EQ(block_rounds({300, 2, false}, kSms).blocks, 4);
  EXPECT_EQ(block_rounds({kSms, 1, true, {128, 128}, 512}, kSms).blocks, 4);
}

TEST(Residency, of_kernels_with_known_occupancy) {
  for (const Launch& l : std::initializer_list<Launch>{
           {256, 202, 49152, 90, 1},      // registers: 208 x 32 x 8 = 53,248 of 65,536
           {128, 128, 13056, 90, 4},      // registers: 16,384 each
           {1024, 32, 0, 90, 2},          // threads: 2 x 1024
           {1024, 32, 0, 75, 1},          // T4 holds 1024 threads
           {32, 16, 0, 90, 32},           // at most 32 blocks
           {32, 16, 0, 75, 16},           // T4: 16
           {128, 32, 100 * 1024, 90, 2},  // shared: 233,472 / (102,400 + 1,024)
           {128, 32, 32 * 1024, 75, 2},   // T4: 65,536 / 32,768, nothing reserved
           {256, 255, 0, 90, 1},
       }) {
    EXPECT_EQ(resident_blocks(l.threads, l.registers, l.shared, l.capability), l.resident)
        << l.threads << ' ' << l.registers << ' ' << l.shared << ' ' << l.capability;
  }
}

TEST(Residency, is_at_least_one_whatever_a_record_claims) {
  constexpr int kMost = std::numeric_limits<int>::max();
  for (int wild : {kMost, -1, 0, -kMost, 1 << 20}) {
    EXPECT_GE(resident_blocks(wild, wild, wild, 90), 1);
    EXPECT_GE(resident_blocks(256, wild, 0, 75), 1);
    EXPECT_GE(resident_blocks(256, 0, wild, wild), 1);
  }
}

TEST(Residency, limits_are_known_for_the_usual_generations_only) {
  for (int known : {70, 75, 80, 86, 89, 90, 100, 120})
    EXPECT_TRUE(residency_limits(known)) << known;
  EXPECT_FALSE(residency_limits(35));
  EXPECT_FALSE(residency_limits(0));
  EXPECT_EQ(residency_limits(75)->threads, 1024);
}

}  // namespace
}  // namespace ddpx
