#include "predict/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ddpx {
namespace {

TEST(Text, numbers_have_three_significant_digits) {
  EXPECT_EQ(three_digits(1.8666), "1.87");
  EXPECT_EQ(three_digits(0.31549), "0.315");
  EXPECT_EQ(three_digits(12.04), "12.0");
  EXPECT_EQ(three_digits(123.4), "123");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(0.99951), "1.00");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(1e300), "1.00e+300");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, units_are_the_largest_that_leave_one_or_more) {
  EXPECT_EQ(amount_text(542784), "543K");
  EXPECT_EQ(amount_text(33.7e6), "33.7M");
  EXPECT_EQ(amount_text(999.9e6), "1.00B");
  EXPECT_EQ(time_text(Seconds(9.81e-6)), "9.81 us");
  EXPECT_EQ(time_text(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(time_text(Seconds(0.99996)), "1.00 s");
  EXPECT_EQ(size_text(Bytes(26214400)), "26.2 MB");
  EXPECT_EQ(rate_text(BytesPerSecond(4.05e9)), "4.05 GB/s");
  EXPECT_EQ(percent_text(0.123), "12 %");
  EXPECT_EQ(percent_text(0.0044), "0.4 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(count_text(256), "256");
  EXPECT_EQ(count_text(2.5), "2.5");
}

TEST(Text, an_interval_stands_behind_its_value) {
  EXPECT_EQ(interval_text({1.87, 1.78, 1.96}), "1.87 (1.78-1.96)");
}

}  // namespace
}  // namespace ddpx
