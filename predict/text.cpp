#include "predict/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ddpx {
namespace {

// The value in the largest unit that leaves it at least 1.
struct Scale {
  double factor;
  const char* unit;
};

std::string scaled(double value, const Scale* begin, const Scale* end, int digits = 3) {
  const Scale* scale = begin;
  // 0.9995: what rounds up to 1.00 of a unit belongs to it.
  while (scale + 1 != end && value >= 0.9995 * (scale + 1)->factor) ++scale;
  if (digits == 3) return three_digits(value / scale->factor) + scale->unit;
  char text[40];
  std::snprintf(text, sizeof text, "%.*g%s", digits, value / scale->factor, scale->unit);
  return text;
}

constexpr Scale kAmounts[] = {{1, ""}, {1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};
constexpr Scale kTimes[] = {{1e-9, " ns"}, {1e-6, " us"}, {1e-3, " ms"}, {1, " s"}};
constexpr Scale kSizes[] = {{1, " B"}, {1e3, " KB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}};

}  // namespace

std::string three_digits(double value) {
  char text[40];
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  if (value == 0) return "0";
  if (magnitude >= 999999.5 || magnitude < 5e-4) {
    std::snprintf(text, sizeof text, "%.2e", value);
  } else {
    const int decimals = magnitude >= 99.95    ? 0
                         : magnitude >= 9.995  ? 1
                         : magnitude >= 0.9995 ? 2
                                               : 3;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
  }
  return text;
}

std::string amount_text(double value) {
  return scaled(value, std::begin(kAmounts), std::end(kAmounts));
}
std::string time_text(Seconds time, int digits) {
  return scaled(time.value(), std::begin(kTimes), std::end(kTimes), digits);
}
std::string size_text(Bytes size) {
  return scaled(size.value(), std::begin(kSizes), std::end(kSizes));
}
std::string rate_text(BytesPerSecond rate, int digits) {
  return scaled(rate.value(), std::begin(kSizes), std::end(kSizes), digits) + "/s";
}

std::string percent_text(double fraction) {
  const double percent = 100 * fraction;
  char text[40];
  const int decimals = std::abs(percent) >= 9.95 || percent == 0 ? 0 : 1;
  std::snprintf(text, sizeof text, std::abs(percent) < 1e6 ? "%.*f %%" : "%.*e %%", decimals,
                percent);
  return text;
}

std::string factor_text(double factor) { return three_digits(factor) + "x"; }

std::string interval_text(const Interval& interval) {
  return three_digits(interval.value) + " (" + three_digits(interval.low) + "-" +
         three_digits(interval.high) + ")";
}

std::string count_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, std::abs(value) < 1e9 ? "%.6g" : "%.2e", value);
  if (value == std::floor(value) && std::abs(value) < 1e9)
    std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (columns_of(text) <= most) return std::string(text);
  if (most < 3) return std::string(prefix_within(text, most));
  return std::string(prefix_within(text, most - 2)) + "..";
}

}  // namespace ddpx
