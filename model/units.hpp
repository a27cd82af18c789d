// Units as types, so that bytes cannot be added to seconds and a bandwidth cannot be passed as a
// rate.
//
// A Quantity carries the exponents of time, bytes and floating-point operations in its type. All
// values are SI: seconds, bytes (GB = 10^9 B, GiB = 2^30 B), flops.
#pragma once

#include <compare>

namespace ddpx {

template <int TimeExp, int ByteExp, int FlopExp>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.value_ * f); }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(a.value_ * f); }
  friend constexpr Quantity operator/(Quantity a, double f) { return Quantity(a.value_ / f); }

 private:
  double value_ = 0.0;
};

namespace detail {
// A product whose exponents cancel is a plain number.
template <int T, int B, int F>
constexpr auto make_quantity(double value) {
  if constexpr (T == 0 && B == 0 && F == 0) {
    return value;
  } else {
    return Quantity<T, B, F>(value);
  }
}
}  // namespace detail

template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator*(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return detail::make_quantity<T1 + T2, B1 + B2, F1 + F2>(a.value() * b.value());
}

template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator/(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return detail::make_quantity<T1 - T2, B1 - B2, F1 - F2>(a.value() / b.value());
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;

inline constexpr Bytes kKB{1e3};
inline constexpr Bytes kMB{1e6};
inline constexpr Bytes kGB{1e9};
inline constexpr Bytes kKiB{1024.0};
inline constexpr Bytes kMiB{1048576.0};
inline constexpr Bytes kGiB{1073741824.0};
inline constexpr BytesPerSecond kGBPerSecond{1e9};
inline constexpr Seconds kMicrosecond{1e-6};
inline constexpr Seconds kMillisecond{1e-3};

}  // namespace ddpx
