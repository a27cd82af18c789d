#include "model/clock.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

Machine machine(std::optional<double> boost, std::optional<double> sustained) {
  Machine m;
  if (boost) m.boost = Estimate<double>{*boost, 0.1, ""};
  if (sustained) m.sustained = Estimate<double>{*sustained, 0.1, ""};
  return m;
}

TEST(Clocks, of_a_machine_without_a_power_limit_are_constant) {
  for (double busy : {0.01, 0.5, 1.0}) EXPECT_EQ(clock_factor(Machine{}, busy, 2.0), 1.0);
}

TEST(Clocks, of_a_step_without_pause_are_those_of_the_calibration) {
  EXPECT_DOUBLE_EQ(clock_factor(machine(0.6, {}), 1.0, 0), 1.0);
}

TEST(Clocks, rise_when_the_device_waits_until_the_full_clock) {
  const Machine m = machine(0.6, {});
  double last = 1.0;
  for (double busy : {0.9, 0.7, 0.5, 0.3}) {
    const double factor = clock_factor(m, busy, 0);
    EXPECT_LT(factor, last);
    EXPECT_GE(factor, 0.6);
    last = factor;
  }
  EXPECT_DOUBLE_EQ(clock_factor(m, 0.01, 0), 0.6);
}

TEST(Clocks, average_the_power_over_the_step) {
  // Half busy: half the power at the same clock, so the cube root of a half of the time.
  EXPECT_NEAR(clock_factor(machine(0.3, {}), 0.5, 0), 0.7937, 1e-4);
}

TEST(Clocks, of_a_hot_chip_are_lower_by_their_measured_factor) {
  EXPECT_DOUBLE_EQ(clock_factor(machine({}, 1.2), 1.0, 0), 1.2);
  EXPECT_DOUBLE_EQ(clock_factor(machine(0.6, 1.2), 0.01, 0), 0.72);
  EXPECT_NEAR(clock_factor(machine({}, 1.2), 1.0, 1.0), 1.32, 1e-12);
}

}  // namespace
}  // namespace ddpx
