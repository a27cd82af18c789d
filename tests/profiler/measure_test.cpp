#include "profiler/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using testing::HasSubstr;
using testing::Optional;

std::function<std::vector<double>(int)> source(double seconds, double deviation) {
  return [seconds, normal = std::normal_distribution<double>(1, deviation),
          random = std::mt19937(3)](int n) mutable {
    std::vector<double> samples;
    for (int i = 0; i < n; ++i) samples.push_back(seconds * std::max(0.01, normal(random)));
    return samples;
  };
}

TEST(StoppingRule, goes_on_until_it_has_its_fewest_samples_whatever_they_cost) {
  StoppingRule rule({.noise = 0.5, .fewest = 5, .most = 10, .time = Seconds(1)});
  rule.add(std::vector{100.0, 100.0, 100.0, 100.0});
  EXPECT_EQ(rule.stopped(), std::nullopt);
  rule.add(std::vector{100.0});
  EXPECT_EQ(rule.stopped(), Stopped::quiet);
}

TEST(StoppingRule, stops_for_time_by_the_sum_of_samples) {
  StoppingRule rule({.noise = 1e-6, .fewest = 3, .most = 100, .time = Seconds(1)});
  rule.add(std::vector{0.2, 0.3, 0.25});
  EXPECT_EQ(rule.stopped(), std::nullopt);
  rule.add(std::vector{0.26});
  EXPECT_EQ(rule.stopped(), Stopped::time);
}

TEST(StoppingRule, stops_for_count) {
  StoppingRule rule({.noise = 1e-6, .fewest = 3, .most = 4, .time = Seconds(100)});
  rule.add(std::vector{0.2, 0.3, 0.25, 0.26});
  EXPECT_EQ(rule.stopped(), Stopped::count);
}

TEST(StoppingRule, asks_for_one_sample_first_then_for_what_the_time_allows) {
  StoppingRule rule({.noise = 1e-6, .fewest = 5, .most = 400, .time = Seconds(2)});
  EXPECT_EQ(rule.next(), 1);
  rule.add(std::vector{0.2});
  EXPECT_EQ(rule.next(), 2);  // half a second a call at most
  rule.add(std::vector{0.2, 0.2});
  EXPECT_EQ(rule.next(), 2);
}

TEST(StoppingRule, never_asks_for_less_than_one_or_more_than_is_left) {
  StoppingRule rule({.noise = 1e-9, .fewest = 3, .most = 7, .time = Seconds(1)});
  rule.add(std::vector{10.0});
  EXPECT_EQ(rule.next(), 1);
  StoppingRule fast({.noise = 1e-9, .fewest = 3, .most = 7, .time = Seconds(1)});
  fast.add(std::vector{1e-6, 2e-6, 3e-6, 4e-6, 5e-6});
  EXPECT_EQ(fast.next(), 2);
}

TEST(StoppingRule, options_that_make_no_sense_are_refused_by_name) {
  const auto refused = [](StoppingOptions options, std::string_view field) {
    test::expect_input_error([&] { StoppingRule rule(options); }, {field});
  };
  refused({.noise = 0}, "noise");
  refused({.noise = std::numeric_limits<double>::quiet_NaN()}, "noise");
  refused({.fewest = 2}, "fewest");
  refused({.fewest = 9, .most = 8}, "most");
  refused({.time = Seconds(0)}, "time");
  refused({.time = Seconds(std::numeric_limits<double>::infinity())}, "time");
}

TEST(Measure, of_a_quiet_source_ends_early_and_says_so) {
  const Measured measured = measure(source(1e-3, 0.001), {.fewest = 5});
  EXPECT_EQ(measured.stopped, Stopped::quiet);
  EXPECT_EQ(measured.seconds.size(), 5U);
  EXPECT_NEAR(median(measured.seconds), 1e-3, 5e-6);
  EXPECT_EQ(measured.remark, std::nullopt);
}

TEST(Measure, of_a_noisy_source_uses_its_time_and_says_how_noisy_it_was) {
  const Measured measured = measure(source(1e-2, 0.3), {.noise = 0.01, .time = Seconds(0.3)});
  EXPECT_EQ(measured.stopped, Stopped::time);
  EXPECT_THAT(measured.remark, Optional(HasSubstr("noisy")));
  EXPECT_GE(measured.spent.value(), 0.3);
  EXPECT_LT(measured.spent.value(), 0.45);
}

TEST(Measure, the_stated_error_holds_the_truth) {
  int inside = 0;
  constexpr int kRepeats = 400;
  std::mt19937 random(11);
  for (int i = 0; i < kRepeats; ++i) {
    std::normal_distribution<double> normal(1, 0.05);
    const Measured m = measure(
        [&](int n) {
          std::vector<double> samples;
          for (int k = 0; k < n; ++k) samples.push_back(normal(random));
          return samples;
        },
        {.noise = 0.01, .fewest = 5, .most = 100, .time = Seconds(1e6)});
    inside += std::abs(median(m.seconds) - 1) <= 1.645 * m.relative_error ? 1 : 0;
  }
  // Stopping when the error looks small makes it a little too small: less than the nominal 90 % is
  // expected, not much less.
  EXPECT_GT(inside, kRepeats * 70 / 100);
}

TEST(Measure, samples_of_two_kinds_are_remarked_on_because_either_may_be_the_disturbed_one) {
  std::size_t taken = 0;
  const Measured measured = measure(
      [&](int n) {
        std::vector<double> seconds;
        for (int i = 0; i < n; ++i, ++taken)
          seconds.push_back((taken % 2 == 0 ? 3e-3 : 1e-3) *
                            (1 + 1e-3 * static_cast<double>(taken % 5)));
        return seconds;
      },
      {.noise = 0.01, .fewest = 7, .most = 7});
  ASSERT_TRUE(measured.remark);
  EXPECT_NE(measured.remark->find("3 of 7 samples lie apart"), std::string::npos)
      << *measured.remark;
}

}  // namespace
}  // namespace ddpx
