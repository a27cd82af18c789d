#include "report/scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ddpx::report {
namespace {

std::vector<std::string> tick_texts(const AxisScale& scale) {
  std::vector<std::string> texts;
  for (const Tick& tick : scale.ticks()) texts.push_back(tick.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Scale, a_linear_axis_has_round_ticks_around_its_data) {
  const AxisScale scale({"", Scale::linear, AxisUnit::plain, 0.0, {}}, {0.3, 1.87});
  EXPECT_EQ(tick_texts(scale),
            (Texts{"0", "0.25", "0.5", "0.75", "1", "1.25", "1.5", "1.75", "2"}));
  EXPECT_DOUBLE_EQ(scale.low(), 0);
  EXPECT_DOUBLE_EQ(scale.high(), 2);
}

TEST(Scale, positions_run_from_the_lower_to_the_upper_end) {
  const AxisScale linear({"", Scale::linear, AxisUnit::plain, 0.0, 2.0}, {1.0});
  EXPECT_DOUBLE_EQ(linear.at(0.5, 100, 0), 75);
  EXPECT_DOUBLE_EQ(linear.at(9.0, 100, 0), 0) << "held inside";
  const AxisScale logarithmic({"", Scale::logarithmic, AxisUnit::plain, 1.0, 100.0}, {10.0});
  EXPECT_DOUBLE_EQ(logarithmic.at(10.0, 0, 100), 50);
}

TEST(Scale, a_logarithmic_axis_has_three_to_seven_ticks_over_any_span) {
  for (const double decades : {0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 60.0}) {
    const AxisScale scale({"", Scale::logarithmic, AxisUnit::count, {}, {}},
                          {5e5, 5e5 * std::pow(10.0, decades)});
    EXPECT_GE(scale.ticks().size(), 3U) << decades;
    EXPECT_LE(scale.ticks().size(), 8U) << decades;
  }
}

TEST(Scale, ticks_of_counts_and_times_carry_their_unit) {
  const AxisScale counts({"", Scale::logarithmic, AxisUnit::count, {}, {}}, {5e5, 6e8});
  EXPECT_EQ(tick_texts(counts), (Texts{"1M", "3M", "10M", "30M", "100M", "300M"}));
  const AxisScale times({"", Scale::logarithmic, AxisUnit::seconds, {}, {}}, {1e-3, 0.1});
  EXPECT_EQ(tick_texts(times).front(), "1 ms");
  const AxisScale shares({"", Scale::linear, AxisUnit::share, 0.0, 1.0}, {});
  EXPECT_EQ(tick_texts(shares), (Texts{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"}));
}

TEST(Scale, what_cannot_be_drawn_does_not_stretch_the_axis) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const AxisScale scale({"", Scale::logarithmic, AxisUnit::plain, {}, {}},
                        {nan, -1.0, 0.0, 1.0, 10.0, HUGE_VAL});
  EXPECT_GT(scale.low(), 0.5);
  EXPECT_LT(scale.high(), 20);
  EXPECT_FALSE(scale.drawable(nan));
  EXPECT_FALSE(scale.drawable(0));
}

TEST(Scale, no_data_and_one_value_give_an_axis_nevertheless) {
  for (const Scale kind : {Scale::linear, Scale::logarithmic}) {
    for (const std::vector<double>& values : {std::vector<double>{}, std::vector<double>{3.0}}) {
      const AxisScale scale({"", kind, AxisUnit::plain, {}, {}}, values);
      EXPECT_LT(scale.low(), scale.high());
      EXPECT_GE(scale.ticks().size(), 2U);
    }
  }
}

}  // namespace
}  // namespace ddpx::report
