#include "report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ddpx::report {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

// Three significant digits without an exponent: 0.0125, 1.25, 12.5, 125, 12500.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  // Of what it rounds to: 9.996 is 10.0 and not 10.00.
  const int magnitude = static_cast<int>(std::floor(std::log10(size * 1.0005)));
  const int decimals = std::min(std::max(0, 2 - magnitude), 12);
  return fmt::format("{:.{}f}", value, decimals);
}

const Unit& unit_for(double value, std::span<const Unit> ascending) {
  const Unit* chosen = &ascending.front();
  for (const Unit& unit : ascending) {
    // What would round to 1000 of the smaller unit is 1 of this one.
    if (std::abs(value) >= 0.9995 * unit.size) chosen = &unit;
  }
  return *chosen;
}

constexpr std::array<Unit, 3> kSeconds{{{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
constexpr std::array<Unit, 5> kBytes{
    {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
constexpr std::array<Unit, 5> kCounts{{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}}};

}  // namespace

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kNothing);
  const double percents = 100.0 * fraction;
  const double size = std::abs(percents);
  const int decimals = size == 0 || size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2;
  return fmt::format("{:.{}f} %", percents, decimals);
}

std::string signed_percent(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kNothing);
  return (fraction > 0 ? "+" : "") + percent(fraction);
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kNothing);
  const Unit& unit = unit_for(bytes, kBytes);
  return fmt::format("{} {}", three_digits(bytes / unit.size), unit.name);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kNothing);
  const Unit& unit = unit_for(seconds, kSeconds);
  return fmt::format("{} {}", three_digits(seconds / unit.size), unit.name);
}

std::string count_text(double count) {
  if (!std::isfinite(count)) return std::string(kNothing);
  const Unit& unit = unit_for(count, kCounts);
  if (unit.size == 1 && count == std::round(count)) return fmt::format("{:.0f}", count);
  return fmt::format("{}{}", three_digits(count / unit.size), unit.name);
}

std::string number_text(double value) {
  return std::isfinite(value) ? three_digits(value) : std::string(kNothing);
}

std::string interval_text(const Interval& interval) {
  return fmt::format("{} ({} to {})", number_text(interval.value), number_text(interval.low),
                     number_text(interval.high));
}

std::string seconds_interval_text(const Interval& seconds) {
  if (!std::isfinite(seconds.value)) return std::string(kNothing);
  const Unit& unit = unit_for(seconds.value, kSeconds);
  return fmt::format("{} ({} to {}) {}", three_digits(seconds.value / unit.size),
                     number_text(seconds.low / unit.size), number_text(seconds.high / unit.size),
                     unit.name);
}

std::string counted(std::size_t n, std::string_view singular) {
  return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
}

}  // namespace ddpx::report
