#include "validation/percentile.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

TEST(Percentile, interpolates_between_order_statistics_as_numpy_does) {
  // numpy.percentile([4, 1, 3, 2], [0, 50, 95, 100])
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(percentile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile(values, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(percentile(values, 1.0), 4.0);
}

TEST(Percentile, of_one_value_is_that_value) { EXPECT_DOUBLE_EQ(percentile({7.0}, 0.95), 7.0); }

TEST(Percentile, the_95th_of_0_to_100_is_95) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  EXPECT_DOUBLE_EQ(percentile(values, 0.95), 95.0);
}

}  // namespace
}  // namespace ddpx
