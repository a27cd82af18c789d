#include "profiler/cuda/loads.hpp"

#include <gtest/gtest.h>

namespace ddpx::cuda {
namespace {

// NVML's bits: 0x1 idle, 0x4 power limit, 0x20 temperature limit (API reference).
constexpr std::uint64_t kIdle = 0x1;
constexpr std::uint64_t kPower = 0x4;
constexpr std::uint64_t kHot = 0x20;

GpuState state() {
  GpuState state;
  state.sm_mhz = 1980;
  state.watts = 690.5;
  state.limit_watts = 700;
  return state;
}

TEST(Loads, a_burst_keeps_windows_that_something_slowed_apart_with_the_reason) {
  const std::vector<LoadWindow> windows{{1.0, kIdle}, {1.5, kPower | kHot}, {1.1, 0}};
  const RankLoad load = load_of(windows, state(), Clocks::burst);
  EXPECT_EQ(load.seconds, (std::vector{1.0, 1.1}));
  ASSERT_EQ(load.dropped.size(), 1U);
  EXPECT_EQ(load.dropped[0].seconds, 1.5);
  EXPECT_EQ(load.dropped[0].reason, "slowed: power limit, temperature limit");
  EXPECT_EQ(load.slowed_by, "power limit, temperature limit");
  EXPECT_EQ(load.power_w, 690.5);
  EXPECT_FALSE(load.celsius);
}

TEST(Loads, a_burst_that_was_slowed_all_along_is_all_there_is) {
  const std::vector<LoadWindow> windows{{1.5, kPower}, {1.6, kPower}};
  const RankLoad load = load_of(windows, {}, Clocks::burst);
  EXPECT_EQ(load.seconds.size(), 2U);
  EXPECT_TRUE(load.dropped.empty());
  EXPECT_EQ(load.slowed_by, "power limit");
}

TEST(Loads, of_a_sustained_load_being_slowed_is_the_answer) {
  const std::vector<LoadWindow> windows{{1.0, 0}, {1.5, kPower}};
  const RankLoad load = load_of(windows, {}, Clocks::sustained);
  EXPECT_EQ(load.seconds, (std::vector{1.0, 1.5}));
  EXPECT_TRUE(load.dropped.empty());
  EXPECT_EQ(load.slowed_by, "power limit");
}

TEST(Loads, ranks_exchange_them_as_numbers_and_what_nvml_does_not_say_stays_unknown) {
  const std::vector<LoadWindow> windows{{1.0, 0}, {1.5, kHot}};
  const RankLoad sent = load_of(windows, state(), Clocks::burst);
  const RankLoad come = unpacked(packed(windows, state()), Clocks::burst);
  EXPECT_EQ(come.seconds, sent.seconds);
  ASSERT_EQ(come.dropped.size(), 1U);
  EXPECT_EQ(come.dropped[0].reason, sent.dropped[0].reason);
  EXPECT_EQ(come.clock_mhz, 1980);
  EXPECT_EQ(come.power_limit_w, 700);
  EXPECT_EQ(come.memory_mhz, std::nullopt);
  EXPECT_EQ(come.celsius, std::nullopt);
}

}  // namespace
}  // namespace ddpx::cuda
