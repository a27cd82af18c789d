#include "model/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

constexpr Seconds kStep{0.2};

Machine machine_of_clocks(std::optional<double> boost, std::optional<double> sustained) {
  Machine m;
  if (boost) m.boost = Estimate<double>{*boost, 0.1, ""};
  if (sustained) m.sustained = Estimate<double>{*sustained, 0.1, ""};
  return m;
}

TEST(Clocks, of_a_machine_without_a_power_limit_are_constant) {
  for (double busy : {0.01, 0.5, 1.0}) EXPECT_EQ(clock_factor(Machine{}, busy, kStep, 2.0), 1.0);
}

TEST(Clocks, of_a_step_without_pause_are_those_of_the_calibration) {
  EXPECT_DOUBLE_EQ(clock_factor(machine_of_clocks(0.6, {}), 1.0, kStep, 0), 1.0);
}

TEST(Clocks, rise_when_the_device_waits_until_the_full_clock) {
  const Machine m = machine_of_clocks(0.6, {});
  double last = 1.0;
  for (double busy : {0.9, 0.7, 0.5, 0.3}) {
    const double factor = clock_factor(m, busy, kStep, 0);
    EXPECT_LT(factor, last);
    EXPECT_GE(factor, 0.6);
    last = factor;
  }
  EXPECT_DOUBLE_EQ(clock_factor(m, 0.01, kStep, 0), 0.6);
}

TEST(Clocks, average_the_power_over_the_step) {
  // Half busy: half the power at the same clock, so the cube root of a half of the time.
  EXPECT_NEAR(clock_factor(machine_of_clocks(0.3, {}), 0.5, kStep, 0), 0.7937, 1e-4);
}

TEST(Clocks, of_a_hot_chip_are_lower_by_their_measured_factor) {
  EXPECT_DOUBLE_EQ(clock_factor(machine_of_clocks({}, 1.2), 1.0, kStep, 0), 1.2);
  EXPECT_DOUBLE_EQ(clock_factor(machine_of_clocks(0.6, 1.2), 0.01, kStep, 0), 0.72);
  EXPECT_NEAR(clock_factor(machine_of_clocks({}, 1.2), 1.0, kStep, 1.0), 1.32, 1e-12);
}

// Share of one reading after the other, each cut out of the steps at another place, that a moment
// of work finds: what busy_in_reading gives in closed form.
double busy_by_counting(double busy, double step, double window) {
  constexpr int kReadings = 300;
  constexpr int kMoments = 5000;
  double work = 0;
  double found = 0;
  for (int r = 0; r < kReadings; ++r) {
    const double begin = step * r / kReadings;
    int busy_moments = 0;
    for (int m = 0; m < kMoments; ++m)
      if (std::fmod(begin + window * (m + 0.5) / kMoments, step) < busy * step) ++busy_moments;
    work += busy_moments;
    found += 1.0 * busy_moments * busy_moments / kMoments;
  }
  return found / work;
}

TEST(PowerReadings, hold_the_share_of_work_that_counting_finds) {
  for (double step : {0.013, 0.05, 0.1, 0.15, 2.6})
    for (double busy : {0.05, 0.35, 0.85, 1.0})
      EXPECT_NEAR(busy_in_reading(busy, Seconds(step), Seconds(0.1)),
                  busy_by_counting(busy, step, 0.1), 3e-3)
          << step << " s, busy " << busy;
}

TEST(PowerReadings, average_short_steps_and_see_long_ones_work_or_wait) {
  EXPECT_NEAR(busy_in_reading(0.3, Seconds(1e-4), Seconds(0.1)), 0.3, 1e-4);
  // Work of 5 s: all readings in it are full but those at its two ends, which lose a third.
  EXPECT_NEAR(busy_in_reading(0.5, Seconds(10), Seconds(0.1)), 1.0 - 0.1 / 3 / 5, 1e-9);
}

TEST(Clocks, of_long_steps_gain_nothing_from_their_pauses) {
  Machine m = machine_of_clocks(0.5, {});
  m.power_window = Estimate<Seconds>{Seconds(0.1), 0.5, ""};
  EXPECT_NEAR(clock_factor(m, 0.5, Seconds(1e-3), 0), std::cbrt(0.5), 1e-3);
  EXPECT_GT(clock_factor(m, 0.5, Seconds(2), 0), 0.98);
  EXPECT_GT(clock_factor(m, 0.5, kStep, 1), clock_factor(m, 0.5, kStep, 0))
      << "a shorter window than thought leaves less to gain";
}

}  // namespace
}  // namespace ddpx
