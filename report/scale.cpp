#include "report/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "report/words.hpp"

namespace ddpx::report {
namespace {

constexpr double kFewestTicks = 3;
constexpr double kMostTicks = 7;

// The largest of 1, 2, 2.5, 5 x 10^n that gives at least five steps over `span`, or nearly.
double linear_step(double span) {
  const double rough = span / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double best = power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (factor * power <= rough * 1.05) best = factor * power;
  }
  return best;
}

// Digits of a decade that carry a tick, from sparse to dense.
std::vector<double> decade_ticks(double low, double high, std::span<const double> digits,
                                 int every) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % every != 0) continue;
    for (const double digit : digits) {
      const double value = digit * std::pow(10.0, exponent);
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push_back(value);
    }
  }
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  static constexpr double kDense[] = {1, 1.5, 2, 3, 5, 7};
  static constexpr double kThree[] = {1, 2, 5};
  static constexpr double kTwo[] = {1, 3};
  static constexpr double kOne[] = {1};
  std::vector<double> ticks;
  for (const std::span<const double> digits :
       {std::span<const double>(kDense), std::span<const double>(kThree),
        std::span<const double>(kTwo), std::span<const double>(kOne)}) {
    ticks = decade_ticks(low, high, digits, 1);
    if (static_cast<double>(ticks.size()) <= kMostTicks) break;
  }
  for (int every = 2; static_cast<double>(ticks.size()) > kMostTicks && every < 64; ++every) {
    ticks = decade_ticks(low, high, kOne, every);
  }
  if (static_cast<double>(ticks.size()) < kFewestTicks) ticks = {low, std::sqrt(low * high), high};
  return ticks;
}

std::string tick_text(double value, AxisUnit unit) {
  switch (unit) {
    case AxisUnit::count:
      return fmt::format("{}", value == 0 ? "0" : count_text(value));
    case AxisUnit::seconds:
      return seconds_text(value);
    case AxisUnit::share:
      return fmt::format("{:.4g} %", 100.0 * value);
    case AxisUnit::plain:
      break;
  }
  return fmt::format("{:.4g}", value);
}

// "1.00 ms" says no more than "1 ms" on an axis.
std::string without_trailing_zeros(std::string text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return text;
  std::size_t end = text.find_first_not_of("0123456789", point + 1);
  if (end == std::string::npos) end = text.size();
  std::size_t keep = end;
  while (text[keep - 1] == '0') --keep;
  if (text[keep - 1] == '.') --keep;
  return text.erase(keep, end - keep);
}

}  // namespace

AxisScale::AxisScale(const Axis& axis, const std::vector<double>& values)
    : logarithmic_(axis.scale == Scale::logarithmic) {
  std::vector<double> drawn;
  std::copy_if(values.begin(), values.end(), std::back_inserter(drawn),
               [&](double value) { return drawable(value); });
  if (drawn.empty()) drawn = logarithmic_ ? std::vector{1.0, 10.0} : std::vector{0.0, 1.0};
  const auto [low, high] = std::minmax_element(drawn.begin(), drawn.end());
  low_ = axis.from.value_or(*low);
  high_ = axis.to.value_or(*high);
  logarithmic_ ? span_logarithmic(axis) : span_linear(axis);
}

void AxisScale::span_linear(const Axis& axis) {
  if (!(high_ > low_)) high_ = low_ + std::max(1.0, std::abs(low_));
  const double step = linear_step(high_ - low_);
  if (!axis.from) low_ = step * std::floor(low_ / step + 1e-9);
  if (!axis.to) high_ = step * std::ceil(high_ / step - 1e-9);
  std::vector<double> ticks;
  for (double n = std::ceil(low_ / step - 1e-9); n * step <= high_ + 1e-9 * step; ++n) {
    ticks.push_back(n == 0 ? 0.0 : n * step);
  }
  label(ticks, axis.unit);
}

void AxisScale::span_logarithmic(const Axis& axis) {
  if (!(high_ > low_)) {
    low_ /= 2;
    high_ = low_ * 4;
  }
  const double margin = std::pow(high_ / low_, 0.04);
  if (!axis.from) low_ /= margin;
  if (!axis.to) high_ *= margin;
  label(logarithmic_ticks(low_, high_), axis.unit);
}

void AxisScale::label(const std::vector<double>& values, AxisUnit unit) {
  for (const double value : values) {
    ticks_.push_back({value, without_trailing_zeros(tick_text(value, unit))});
  }
}

bool AxisScale::drawable(double value) const {
  return std::isfinite(value) && (!logarithmic_ || value > 0);
}

double AxisScale::at(double value, double begin, double end) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                    : (value - low_) / (high_ - low_);
  return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
}

}  // namespace ddpx::report
