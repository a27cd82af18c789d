// A constant with its standard error, and a forecast with its interval.
#pragma once

#include <string>

namespace ddpx {

// A fitted or borrowed constant. `relative_error` is one standard error as a fraction of the value;
// `origin` says what it rests on ("fitted on 3 one-GPU steps", "prior: 320 GB/s datasheet x 0.8").
template <class Q>
struct Estimate {
  Q value{};
  double relative_error = 0.0;
  std::string origin;

  // The constant moved by `z` standard errors. Linear in z and floored, so that a far draw stays
  // positive.
  [[nodiscard]] Q shifted(double z) const {
    const double factor = 1.0 + z * relative_error;
    return value * (factor > 0.05 ? factor : 0.05);
  }
};

// A point forecast and its 90 % interval.
struct Interval {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
  [[nodiscard]] double relative_half_width() const {
    return value == 0.0 ? 0.0 : (high - low) / (2.0 * value);
  }
};

inline constexpr double kIntervalCoverage = 0.90;
// Two-sided 90 % quantile of the standard normal distribution.
inline constexpr double kNormalQuantile90 = 1.6448536269514722;

}  // namespace ddpx
