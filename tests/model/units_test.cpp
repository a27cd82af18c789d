#include "model/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace ddpx {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

TEST(Units, bytes_and_seconds_cannot_be_added_or_compared) {
  static_assert(Addable<Bytes, Bytes>);
  static_assert(!Addable<Bytes, Seconds>);
  static_assert(!Addable<Bytes, double>);
  static_assert(!Comparable<Bytes, Seconds>);
  static_assert(!Comparable<BytesPerSecond, FlopsPerSecond>);
}

TEST(Units, a_bare_number_is_not_a_quantity) {
  static_assert(!std::is_convertible_v<double, Seconds>);
  static_assert(!std::is_convertible_v<Seconds, double>);
  static_assert(!std::is_convertible_v<Bytes, Seconds>);
}

TEST(Units, products_and_ratios_carry_their_dimension) {
  static_assert(std::is_same_v<decltype(Bytes{} / Seconds{1}), BytesPerSecond>);
  static_assert(std::is_same_v<decltype(Flops{} / Seconds{1}), FlopsPerSecond>);
  static_assert(std::is_same_v<decltype(Bytes{} / BytesPerSecond{1}), Seconds>);
  static_assert(std::is_same_v<decltype(BytesPerSecond{} * Seconds{}), Bytes>);
  static_assert(std::is_same_v<decltype(Seconds{} / Seconds{1}), double>);
  EXPECT_EQ(Bytes(6e9) / BytesPerSecond(3e9), Seconds(2));
  EXPECT_EQ(Seconds(3) / Seconds(2), 1.5);
}

TEST(Units, a_gigabyte_is_ten_to_the_ninth_and_a_gibibyte_two_to_the_thirtieth) {
  EXPECT_EQ(kGB.value(), 1'000'000'000.0);
  EXPECT_EQ(kGiB.value(), 1'073'741'824.0);
  EXPECT_EQ(25.0 * kMiB, Bytes(26'214'400));
  EXPECT_EQ(kMB / kKB, 1000.0);
}

TEST(Units, arithmetic_and_order_are_those_of_numbers) {
  Seconds t(2);
  t += Seconds(3);
  t -= Seconds(1);
  t *= 2.0;
  EXPECT_EQ(t, Seconds(8));
  EXPECT_LT(kMicrosecond, kMillisecond);
  EXPECT_EQ(Seconds(8) / 2.0 - Seconds(1), Seconds(3));
  EXPECT_EQ(Seconds{}, Seconds(0));
}

}  // namespace
}  // namespace ddpx
