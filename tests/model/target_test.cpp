#include "model/target.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ddpx {
namespace {

TEST(CriticalBatchCurve, doubles_steps_and_samples_at_the_critical_batch) {
  // S = 2 S_min and E = 2 E_min at B = B_crit (McCandlish et al. 2018).
  EXPECT_DOUBLE_EQ(steps_over_least(5000, 5000), 2);
  EXPECT_DOUBLE_EQ(samples_over_least(5000, 5000), 2);
}

TEST(CriticalBatchCurve, is_the_hyperbola_of_steps_and_samples) {
  // (S/S_min - 1) (E/E_min - 1) = 1, and E = S B.
  for (double batch : {1.0, 64.0, 256.0, 8192.0, 1e6}) {
    const double s = steps_over_least(batch, 3000);
    const double e = samples_over_least(batch, 3000);
    EXPECT_NEAR((s - 1) * (e - 1), 1, 1e-9);
    EXPECT_NEAR(e / s, batch / 3000, 1e-9 * batch);
  }
}

TEST(CriticalBatchCurve, costs_samples_the_more_the_smaller_the_critical_batch) {
  const Interval ratio = samples_ratio(256, 2048, {1000, 20000, true});
  EXPECT_DOUBLE_EQ(ratio.high, (1 + 2.048) / (1 + 0.256));
  EXPECT_DOUBLE_EQ(ratio.low, (1 + 2048.0 / 20000) / (1 + 256.0 / 20000));
  EXPECT_GT(ratio.value, ratio.low);
  EXPECT_LT(ratio.value, ratio.high);
  const Interval none = samples_ratio(256, 256, {1000, 20000, true});
  EXPECT_DOUBLE_EQ(none.low, 1);
  EXPECT_DOUBLE_EQ(none.high, 1);
}

TEST(CriticalBatchCurve, halves_what_more_gpus_buy_at_the_critical_batch) {
  EXPECT_DOUBLE_EQ(marginal_gain(4000, 4000), 0.5);
  // It is -d ln S / d ln B.
  const double h = 1e-6;
  for (double batch : {100.0, 4000.0, 50000.0}) {
    const double slope = (std::log(steps_over_least(batch * (1 - h), 4000)) -
                          std::log(steps_over_least(batch * (1 + h), 4000))) /
                         (2 * h);
    EXPECT_NEAR(marginal_gain(batch, 4000), slope, 1e-6);
  }
}

TEST(LearningRates, follow_the_batch_linearly_as_for_resnet50) {
  // Batch 256 at 0.1, 8192 at 3.2 (Goyal et al. 2017).
  EXPECT_DOUBLE_EQ(0.1 * rate_factor(RateRule::linear, 256, 8192), 3.2);
  EXPECT_EQ(kLargestLinearBatch, 8192);
  EXPECT_EQ(kWarmUpEpochs, 5);
  EXPECT_DOUBLE_EQ(rate_factor(RateRule::square_root, 256, 4096), 4);
}

TEST(LearningRates, by_the_curve_are_linear_below_the_critical_batch_and_flat_above) {
  EXPECT_NEAR(rate_factor_of_curve(1, 8, 1e6), 8, 1e-4);
  EXPECT_NEAR(rate_factor_of_curve(1e6, 8e6, 10), 1, 1e-4);
  EXPECT_LT(rate_factor_of_curve(256, 8192, 4000), 32);
}

TEST(UnknownCriticalBatch, is_the_public_range) {
  EXPECT_TRUE(kPublicCriticalBatch.assumed);
  EXPECT_NEAR(kPublicCriticalBatch.middle(), 4472, 1);
}

}  // namespace
}  // namespace ddpx
