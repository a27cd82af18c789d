#include "profiler/cpu/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ddpx::cpu {
namespace {

TEST(Half, known_values_convert_as_ieee_754_says) {
  struct Case {
    float value;
    std::uint16_t bits;
  };
  for (const Case& c : {Case{0.0F, 0x0000},
                        {-0.0F, 0x8000},
                        {1.0F, 0x3c00},
                        {-2.0F, 0xc000},
                        {65504.0F, 0x7bff},
                        {0x1p-14F, 0x0400},
                        {0x1p-24F, 0x0001},
                        {0x1.ff8p-15F, 0x03ff},
                        {1.0F / 3, 0x3555},
                        {std::numeric_limits<float>::infinity(), 0x7c00}}) {
    EXPECT_EQ(to_half(c.value).bits, c.bits) << c.value;
  }
}

TEST(Half, every_half_survives_the_way_to_float_and_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(value))));
    } else {
      EXPECT_EQ(to_half(value), half) << bits;
    }
  }
}

TEST(Half, halfway_cases_round_to_even) {
  EXPECT_EQ(to_half(1.0F + 0x1p-11F).bits, 0x3c00);
  EXPECT_EQ(to_half(1.0F + 3 * 0x1p-11F).bits, 0x3c02);
  EXPECT_EQ(to_half(std::nextafter(1.0F + 0x1p-11F, 2.0F)).bits, 0x3c01);
  EXPECT_EQ(to_half(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(to_half(std::nextafter(0x1p-25F, 1.0F)).bits, 0x0001);
  EXPECT_EQ(to_half(3 * 0x1p-25F).bits, 0x0002);
}

TEST(Half, beyond_the_largest_it_is_infinity) {
  EXPECT_EQ(to_half(65519.99F).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30F).bits, 0xfc00);
}

// The processor's instructions against the arithmetic, on arrays whose length is no multiple of
// theirs.
TEST(Half, arrays_convert_and_add_bit_for_bit_as_single_values_do) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::uint32_t> any;
  std::vector<float> floats(100'003);
  for (float& f : floats) f = std::bit_cast<float>(any(random));
  for (std::size_t i = 0; i < floats.size(); i += 3) floats[i] = std::ldexp(floats[i], -100);
  for (std::size_t i = 1; i < floats.size(); i += 3)
    floats[i] = static_cast<float>(static_cast<int>(any(random) % 200'000) - 100'000) * 1e-3F;
  std::vector<Half> halves(floats.size());
  to_half(floats, halves);
  std::vector<float> back(floats.size());
  to_float(halves, back);
  std::vector<Half> sums(halves.rbegin(), halves.rend());
  add(halves, sums);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const Half one = to_half(floats[i]);
    if (std::isnan(floats[i])) {
      EXPECT_TRUE(std::isnan(back[i]));
      continue;
    }
    ASSERT_EQ(halves[i], one) << floats[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(to_float(one)));
    const float sum = to_float(halves[halves.size() - 1 - i]) + to_float(one);
    if (!std::isnan(sum)) {
      ASSERT_EQ(sums[i], to_half(sum)) << sum;
    }
  }
}

}  // namespace
}  // namespace ddpx::cpu
