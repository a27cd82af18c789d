#include "profiler/screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ddpx {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

std::vector<double> noise(int n, double deviation, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(1.0, deviation);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(normal(random));
  return values;
}

TEST(Median, is_the_middle_or_the_mean_of_both) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector{5.0}), 5.0);
}

TEST(RelativeError, of_the_median_matches_its_spread_over_fresh_samples) {
  constexpr int kRepeats = 2000;
  constexpr int kSamples = 25;
  double squares = 0;
  double stated = 0;
  for (unsigned seed = 1; seed <= kRepeats; ++seed) {
    const auto values = noise(kSamples, 0.05, seed);
    squares += (median(values) - 1) * (median(values) - 1);
    stated += relative_error_of_median(values);
  }
  EXPECT_NEAR(stated / kRepeats, std::sqrt(squares / kRepeats), 0.15 * stated / kRepeats);
}

TEST(RelativeError, of_equal_values_is_zero) {
  EXPECT_EQ(relative_error_of_median(std::vector{2.0, 2.0, 2.0}), 0.0);
}

TEST(Screen, nothing_in_gives_nothing_out) {
  const Screened screened = screen({});
  EXPECT_THAT(screened.kept, IsEmpty());
  EXPECT_EQ(screened.remark, std::nullopt);
}

TEST(Screen, quiet_samples_are_all_kept_in_their_order) {
  const auto values = noise(50, 0.01);
  const Screened screened = screen(values);
  EXPECT_EQ(screened.kept, values);
  EXPECT_THAT(screened.dropped, IsEmpty());
  EXPECT_EQ(screened.remark, std::nullopt);
}

TEST(Screen, chance_is_seldom_taken_for_a_change) {
  int remarks = 0;
  constexpr int kRepeats = 1000;
  for (unsigned seed = 1; seed <= kRepeats; ++seed)
    remarks += screen(noise(20, 0.05, seed)).remark.has_value() ? 1 : 0;
  EXPECT_LE(remarks, 10);
}

TEST(Screen, a_disturbed_sample_is_dropped_with_its_size_as_the_reason) {
  auto values = noise(20, 0.01);
  values[7] = 3.0;
  const Screened screened = screen(values);
  EXPECT_THAT(screened.kept, SizeIs(19));
  ASSERT_THAT(screened.dropped, SizeIs(1));
  EXPECT_EQ(screened.dropped[0].seconds, 3.0);
  EXPECT_THAT(screened.dropped[0].reason, HasSubstr("disturbed: 3.0"));
}

TEST(Screen, a_sample_within_ten_per_cent_is_kept_however_quiet_the_others_are) {
  std::vector<double> values(20, 1.0);
  values[3] = 1.09;
  EXPECT_THAT(screen(values).dropped, IsEmpty());
  values[3] = 1.11;
  EXPECT_THAT(screen(values).dropped, SizeIs(1));
}

TEST(Screen, up_to_half_of_the_samples_may_be_disturbed) {
  auto values = noise(21, 0.01);
  for (std::size_t i = 0; i < 20; i += 2) values[i] *= 10;
  EXPECT_THAT(screen(values).kept, SizeIs(11));
}

TEST(Screen, samples_after_throttling_are_left_out_and_it_is_said) {
  auto values = noise(30, 0.01);
  for (std::size_t i = 18; i < 30; ++i) values[i] *= 1.08;
  const Screened screened = screen(values);
  EXPECT_THAT(screened.remark, Optional(HasSubstr("throttled")));
  EXPECT_THAT(screened.kept, SizeIs(18));
  ASSERT_THAT(screened.dropped, SizeIs(12));
  EXPECT_THAT(screened.dropped[0].reason, HasSubstr("8 % slower than before"));
  EXPECT_NEAR(median(screened.kept), 1.0, 0.01);
}

TEST(Screen, samples_before_warming_up_are_left_out_and_it_is_said) {
  auto values = noise(30, 0.005);
  for (std::size_t i = 0; i < 6; ++i) values[i] *= 1.09;
  const Screened screened = screen(values);
  EXPECT_THAT(screened.remark, Optional(HasSubstr("warmed up")));
  EXPECT_THAT(screened.kept, SizeIs(24));
}

TEST(Screen, a_drift_keeps_everything_and_is_said_with_its_size) {
  auto values = noise(40, 0.005);
  for (std::size_t i = 0; i < 40; ++i) values[i] *= 1 + 0.12 * static_cast<double>(i) / 39;
  const Screened screened = screen(values);
  EXPECT_THAT(screened.remark, Optional(HasSubstr("drifts: +1")));
  EXPECT_THAT(screened.kept, SizeIs(40));
}

TEST(Screen, a_change_below_three_per_cent_is_no_matter) {
  auto values = noise(40, 0.002);
  for (std::size_t i = 20; i < 40; ++i) values[i] *= 1.02;
  EXPECT_EQ(screen(values).remark, std::nullopt);
}

TEST(Screen, too_few_samples_show_no_change) {
  EXPECT_EQ(screen(std::vector{1.0, 1.0, 1.0, 1.09, 1.09, 1.09}).remark, std::nullopt);
}

TEST(Screen, a_change_between_two_quiet_levels_is_found_though_neither_varies) {
  const std::vector<double> values{1, 1, 1, 1, 1, 1.06, 1.06, 1.06, 1.06, 1.06};
  EXPECT_THAT(screen(values).remark, Optional(HasSubstr("throttled")));
}

}  // namespace
}  // namespace ddpx
