#include "model/conformal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

TEST(Conformal, the_half_width_is_the_rank_of_the_absolute_errors) {
  std::vector<double> errors;
  for (int i = 1; i <= 19; ++i) errors.push_back((i % 2 == 0 ? 1 : -1) * 0.01 * i);
  EXPECT_DOUBLE_EQ(conformal_half_width(errors, 0.90).value(), 0.18);  // ceil(20 x 0.9) = 18th
  EXPECT_DOUBLE_EQ(conformal_half_width(errors, 0.50).value(), 0.10);
  EXPECT_DOUBLE_EQ(conformal_half_width(errors, 0.95).value(), 0.19);
}

TEST(Conformal, too_few_errors_support_no_interval) {
  std::vector<double> errors;
  for (int n = 0; n < 9; ++n) {
    EXPECT_FALSE(conformal_half_width(errors, 0.90)) << n;
    errors.push_back(0.01 * (n + 1));
  }
  EXPECT_DOUBLE_EQ(conformal_half_width(errors, 0.90).value(), 0.09);  // n = 9: the largest
  EXPECT_FALSE(conformal_half_width(errors, 0.95));
}

TEST(Conformal, fresh_errors_of_any_distribution_are_covered_as_promised) {
  std::mt19937_64 random(4);
  std::cauchy_distribution<double> heavy(0.01, 0.02);  // no mean, skewed: conformal does not care
  for (int n : {9, 19, 60}) {
    int covered = 0;
    constexpr int kRounds = 40000;
    std::vector<double> errors(static_cast<std::size_t>(n));
    for (int round = 0; round < kRounds; ++round) {
      for (double& e : errors) e = heavy(random);
      if (std::abs(heavy(random)) <= conformal_half_width(errors, 0.90).value()) ++covered;
    }
    // Exactly ceil(0.9 (n+1)) / (n+1) for exchangeable errors.
    const double expected = std::ceil(0.9 * (n + 1) - 1e-9) / (n + 1);
    EXPECT_NEAR(static_cast<double>(covered) / kRounds, expected, 0.006) << n;
  }
}

TEST(Conformal, refuses_coverages_and_errors_that_cannot_be) {
  const std::vector<double> errors(20, 0.01);
  for (double bad : {0.0, 1.0, -0.5, 1.5, std::nan("")}) {
    test::expect_input_error([&] { static_cast<void>(conformal_half_width(errors, bad)); },
                             {"coverage"});
  }
  std::vector<double> with_nan = errors;
  with_nan[3] = std::nan("");
  test::expect_input_error([&] { static_cast<void>(conformal_half_width(with_nan)); },
                           {"not a number"});
}

TEST(Conformal, errors_without_bound_make_intervals_without_bound) {
  const std::vector<double> errors(20, HUGE_VAL);
  EXPECT_TRUE(std::isinf(conformal_half_width(errors).value()));
}

}  // namespace
}  // namespace ddpx
