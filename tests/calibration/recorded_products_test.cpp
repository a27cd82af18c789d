#include "calibration/recorded_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ddpx {
namespace {

constexpr double kGap = 1.4e-6;
constexpr double kFactor = 1.02;

Product product_of(double width, DType dtype = DType::bf16) {
  return {Pass::forward, dtype, 256, width, width};
}

// Kernels of 10, 20, 40 ... us, which take 2 % and a gap more in a row.
Measurements both(std::size_t count) {
  Measurements measurements;
  for (std::size_t i = 0; i < count; ++i) {
    const double record = 1e-5 * std::pow(2, static_cast<double>(i));
    measurements.products.push_back({product_of(256.0 * static_cast<double>(i + 1)),
                                     {kGap + kFactor * record},
                                     std::nullopt,
                                     {},
                                     {record, record, 3 * record}});
  }
  return measurements;
}

TEST(RecordedProducts, take_what_the_ones_that_were_timed_too_take_beside_their_records) {
  const RecordedProducts records(both(8));
  const auto time = records.time_of({product_of(5120), {}, std::nullopt, {}, {3e-5}});
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->value.value(), kGap + kFactor * 3e-5, 1e-12);
  EXPECT_EQ(time->relative_error, 0.005) << "what one process repeats to";
  const auto apart = records.time_of({product_of(5120), {}, std::nullopt, {}, {2e-5, 3e-5, 5e-5}});
  EXPECT_GT(apart->relative_error, 0.05) << "its runs differ";
  // 80 tiles of 64 x 256 in four parts each: their sum is a second kernel.
  const KernelRecord split{
      "nvjet_sm90_tst_64x256_64x4_1x1_h_bz_splitK_NNT", 320, 384, 168, 0, false};
  const auto parted = records.time_of({product_of(5120), {}, split, {}, {3e-5}});
  EXPECT_NEAR(parted->value.value(), 2 * kGap + kFactor * 3e-5, 1e-12);
}

TEST(RecordedProducts, have_the_error_of_those_that_were_timed_too) {
  Measurements measurements = both(8);
  for (std::size_t i = 0; i < 8; ++i)
    measurements.products[i].seconds[0] *= i % 2 == 0 ? 1.03 : 0.97;
  const auto time =
      RecordedProducts(measurements).time_of({product_of(5120), {}, std::nullopt, {}, {3e-5}});
  EXPECT_NEAR(time->relative_error, 0.03, 0.01);
}

TEST(RecordedProducts, are_not_used_where_few_of_their_dtype_were_timed) {
  EXPECT_FALSE(RecordedProducts(both(5)).time_of({product_of(5120), {}, std::nullopt, {}, {3e-5}}));
  EXPECT_FALSE(RecordedProducts(both(8)).time_of(
      {product_of(5120, DType::fp32), {}, std::nullopt, {}, {3e-5}}));
}

TEST(RecordedProducts, that_were_timed_keep_their_times) {
  const auto time =
      RecordedProducts(both(8)).time_of({product_of(512), {2e-5}, std::nullopt, {}, {9e-5}});
  EXPECT_EQ(time->value, Seconds(2e-5));
}

}  // namespace
}  // namespace ddpx
