#include "report/words.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ddpx::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Words, percents_keep_two_digits_that_matter) {
  EXPECT_EQ(percent(0.0), "0 %");
  EXPECT_EQ(percent(0.00342), "0.34 %");
  EXPECT_EQ(percent(0.0099), "0.99 %");
  EXPECT_EQ(percent(0.009999), "1.0 %");
  EXPECT_EQ(percent(0.0388), "3.9 %");
  EXPECT_EQ(percent(0.0996), "10 %");
  EXPECT_EQ(percent(0.27), "27 %");
  EXPECT_EQ(percent(-0.27), "-27 %");
  EXPECT_EQ(signed_percent(0.039), "+3.9 %");
  EXPECT_EQ(signed_percent(-0.039), "-3.9 %");
  EXPECT_EQ(signed_percent(0.0), "0 %");
}

TEST(Words, times_and_counts_change_unit_where_they_would_need_four_digits) {
  EXPECT_EQ(seconds_text(9.1e-6), "9.10 us");
  EXPECT_EQ(seconds_text(2.5165e-3), "2.52 ms");
  EXPECT_EQ(seconds_text(0.9996), "1.00 s");
  EXPECT_EQ(seconds_text(0.2234), "223 ms");
  EXPECT_EQ(count_text(542784), "543k");
  EXPECT_EQ(count_text(8.4624e6), "8.46M");
  EXPECT_EQ(count_text(999999), "1.00M");
  EXPECT_EQ(count_text(256), "256");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(bytes_text(4.05e9), "4.05 GB");
  EXPECT_EQ(bytes_text(512), "512 B");
}

TEST(Words, numbers_have_three_digits_and_no_exponent) {
  EXPECT_EQ(number_text(1.306), "1.31");
  EXPECT_EQ(number_text(13.06), "13.1");
  EXPECT_EQ(number_text(12345.6), "12346");
  EXPECT_EQ(number_text(0.00123456), "0.00123");
  EXPECT_EQ(number_text(10.0), "10.0");
  EXPECT_EQ(number_text(-2.5), "-2.50");
  EXPECT_EQ(number_text(1e300).find('e'), std::string::npos);
}

TEST(Words, intervals_share_the_values_unit) {
  EXPECT_EQ(interval_text({1.306, 1.22, 1.4}), "1.31 (1.22 to 1.40)");
  EXPECT_EQ(seconds_interval_text({13.9e-3, 0.9e-3, 1.2}), "13.9 (0.900 to 1200) ms");
}

TEST(Words, what_is_not_finite_is_a_dash) {
  for (const double value : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_EQ(percent(value), kNothing);
    EXPECT_EQ(signed_percent(value), kNothing);
    EXPECT_EQ(seconds_text(value), kNothing);
    EXPECT_EQ(bytes_text(value), kNothing);
    EXPECT_EQ(count_text(value), kNothing);
    EXPECT_EQ(number_text(value), kNothing);
    EXPECT_EQ(seconds_interval_text({value, value, value}), kNothing);
    EXPECT_EQ(interval_text({value, value, value}).find("nan"), std::string::npos);
  }
}

TEST(Words, one_is_singular) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "row"), "2 rows");
}

}  // namespace
}  // namespace ddpx::report
