#include "model/amdahl.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

TEST(Amdahls, law_has_its_closed_form) {
  const Amdahl law{0.95, 0};
  EXPECT_DOUBLE_EQ(law.speedup(1), 1.0);
  EXPECT_NEAR(law.speedup(8), 5.925925925925926, 1e-12);  // the textbook's 95 % on 8 processors
  EXPECT_NEAR(law.speedup(1 << 20), 20.0, 1e-3);
  EXPECT_NEAR(law.ceiling(), 20.0, 1e-12);
  EXPECT_NEAR((Amdahl{0.9, 0}.ceiling()), 10.0, 1e-12);
}

TEST(Amdahls, ceiling_is_infinite_for_wholly_parallel_work_and_below_one_where_gpus_slow_training) {
  EXPECT_TRUE(std::isinf(Amdahl{}.ceiling()));
  EXPECT_TRUE(std::isinf((Amdahl{1.1, 0}.ceiling())));
  EXPECT_DOUBLE_EQ((Amdahl{-1.0, 0}.ceiling()), 0.5);
  EXPECT_DOUBLE_EQ((Amdahl{0, 0}.ceiling()), 1.0);
}

TEST(Amdahls, fraction_through_one_speedup_gives_that_speedup_back) {
  for (double n : {2.0, 4.0, 1000.0}) {
    for (double speedup : {0.3, 1.0, 1.7, n}) {
      EXPECT_NEAR(amdahl_through(n, speedup).speedup(n), speedup, 1e-12);
    }
    EXPECT_DOUBLE_EQ(amdahl_through(n, n).parallel_fraction, 1.0);
    EXPECT_DOUBLE_EQ(amdahl_through(n, 1).parallel_fraction, 0.0);
  }
}

TEST(Amdahls, fraction_is_recovered_from_exact_and_from_noisy_speedups) {
  const Amdahl truth{0.97, 0};
  std::vector<MeasuredSpeedup> exact{{1, 1}};
  for (double n : {2.0, 4.0, 8.0, 16.0}) exact.push_back({n, truth.speedup(n)});
  EXPECT_NEAR(fit_amdahl(exact).parallel_fraction, 0.97, 1e-12);
  EXPECT_NEAR(fit_amdahl(exact).standard_error, 0, 1e-12);

  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int within = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<MeasuredSpeedup> noisy;
    for (int i = 0; i < 40; ++i) {
      const double n = 1 << (1 + i % 4);
      noisy.push_back({n, 1.0 / (1.0 / truth.speedup(n) + 0.01 * normal(random))});
    }
    const Amdahl law = fit_amdahl(noisy);
    if (std::abs(law.parallel_fraction - 0.97) <= 1.96 * law.standard_error) ++within;
  }
  EXPECT_GT(within, 0.91 * 400);  // 95 % nominal
  EXPECT_LT(within, 0.985 * 400);
}

TEST(Amdahls, fit_needs_more_than_one_gpu_and_speedups_above_zero) {
  expect_input_error([] { static_cast<void>(fit_amdahl({})); }, {"more than 1 GPU"});
  const std::vector<MeasuredSpeedup> alone{{1, 1}, {1, 1}};
  expect_input_error([&] { static_cast<void>(fit_amdahl(alone)); }, {"more than 1 GPU"});
  for (double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const std::vector<MeasuredSpeedup> points{{2, bad}};
    expect_input_error([&] { static_cast<void>(fit_amdahl(points)); }, {"measured speedup"});
    const std::vector<MeasuredSpeedup> counts{{bad, 1.5}};
    expect_input_error([&] { static_cast<void>(fit_amdahl(counts)); }, {"measured speedup"});
  }
  expect_input_error([] { static_cast<void>(amdahl_through(1, 1)); }, {"at least 2 GPUs"});
}

TEST(Usls, coefficients_are_recovered) {
  const Usl truth{0.03, 0.0005};
  std::vector<MeasuredSpeedup> points;
  for (double n : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) points.push_back({n, truth.speedup(n)});
  const Usl law = fit_usl(points);
  EXPECT_NEAR(law.contention, 0.03, 1e-10);
  EXPECT_NEAR(law.coherency, 0.0005, 1e-12);
  // Gunther's peak lies at sqrt((1 - sigma) / kappa).
  const double peak = std::sqrt((1 - 0.03) / 0.0005);
  EXPECT_GT(law.speedup(peak), law.speedup(0.9 * peak));
  EXPECT_GT(law.speedup(peak), law.speedup(1.1 * peak));
}

TEST(Usls, coefficients_are_never_negative) {
  // Faster than linear: the best the law can say is linear.
  const std::vector<MeasuredSpeedup> super{{2, 2.2}, {4, 5}};
  EXPECT_DOUBLE_EQ(fit_usl(super).speedup(8), 8.0);
  // A curve that bends the other way than kappa: contention alone.
  const std::vector<MeasuredSpeedup> bent{{2, 1.2}, {8, 4.5}};
  EXPECT_EQ(fit_usl(bent).coherency, 0.0);
  EXPECT_GT(fit_usl(bent).contention, 0.0);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> speedup(0.1, 12);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<MeasuredSpeedup> points{
        {2, speedup(random)}, {4, speedup(random)}, {8, speedup(random)}};
    const Usl law = fit_usl(points);
    ASSERT_GE(law.contention, 0);
    ASSERT_GE(law.coherency, 0);
    // Least squares on its own quantity: no neighbour in the quadrant is better.
    const auto squares = [&](const Usl& u) {
      double sum = 0;
      for (const MeasuredSpeedup& p : points) {
        const double d = 1 / p.speedup - 1 / u.speedup(p.gpus);
        sum += d * d;
      }
      return sum;
    };
    for (double ds : {-1e-3, 0.0, 1e-3}) {
      for (double dk : {-1e-3, 0.0, 1e-3}) {
        const Usl other{std::max(0.0, law.contention + ds), std::max(0.0, law.coherency + dk)};
        ASSERT_LE(squares(law), squares(other) + 1e-12);
      }
    }
  }
}

TEST(Usls, fit_needs_two_different_counts_above_one) {
  for (const std::vector<MeasuredSpeedup>& points :
       {std::vector<MeasuredSpeedup>{}, {{2, 1.5}}, {{1, 1}, {4, 2}}, {{4, 2}, {4, 2.1}}}) {
    expect_input_error([&] { static_cast<void>(fit_usl(points)); }, {"two different GPU counts"});
  }
}

}  // namespace
}  // namespace ddpx
