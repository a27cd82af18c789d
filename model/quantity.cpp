#include "model/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>

#include "model/error.hpp"

namespace ddpx {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kAmounts[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
constexpr Unit kSizes[] = {{"B", 1},        {"KB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
                           {"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
constexpr Unit kRates[] = {
    {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},    {"KiB/s", 1024.0},
    {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}};
// The micro sign and the Greek letter are what people paste; messages name the plain one.
constexpr Unit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6},
                           {"ms", 1e-3}, {"s", 1},     {"min", 60},       {"h", 3600}};

[[noreturn]] void reject(std::string_view place, std::string_view text,
                         const std::string& problem) {
  throw InputError(place, "'" + shown(text) + "' " + problem);
}

struct Number {
  double value = 0;
  std::string_view rest;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number `text` begins with; nullopt when it begins with none. from_chars also knows "inf",
// "nan" and a minus sign; we do not.
std::optional<Number> leading_number(std::string_view text) {
  if (text.empty() || (text[0] != '.' && !is_digit(text[0]))) return std::nullopt;
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc() || !std::isfinite(number.value)) return std::nullopt;
  number.rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return number;
}

// What is wrong with a text that begins with no number.
std::string without_number(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text[0] == '-' && text.size() > 1 && (is_digit(text[1]) || text[1] == '.'))
    return "is negative";
  if (is_digit(text[0])) return "is larger or smaller than a number can be";
  for (const std::string_view word : {"nan", "inf", "-inf", "-nan", "NaN", "Inf", "NAN", "INF"}) {
    if (text.starts_with(word)) return "is no finite number";
  }
  return "does not begin with a number";
}

std::string names(std::span<const Unit> units) {
  std::string list;
  for (const Unit& unit : units) {
    const bool plain = !unit.name.empty() && unit.name.front() > ' ' && unit.name.front() <= '~';
    if (plain) list += (list.empty() ? "" : ", ") + std::string(unit.name);
  }
  return list;
}

double parse_with_unit(std::string_view place, std::string_view text, std::span<const Unit> units,
                       const std::string& accepted) {
  const auto number = leading_number(text);
  if (!number) reject(place, text, without_number(text) + "; accepted: " + accepted);
  for (const Unit& unit : units) {
    if (unit.name != number->rest) continue;
    const double value = number->value * unit.factor;
    if (!(value > 0) || !std::isfinite(value))
      reject(place, text, "must be above 0 and finite; accepted: " + accepted);
    return value;
  }
  if (number->rest.empty()) reject(place, text, "needs a unit; accepted: " + accepted);
  reject(place, text, "has an unknown unit '" + shown(number->rest) + "'; accepted: " + accepted);
}

double whole(std::string_view place, std::string_view text, std::string_view part) {
  const auto number = leading_number(part);
  if (!number || !number->rest.empty() || number->value < 1 ||
      number->value != std::floor(number->value) || number->value > 0x1p53) {
    reject(place, text,
           "needs whole numbers of at least 1, as width=256:8192; '" + shown(part) + "' is none");
  }
  return number->value;
}

constexpr std::string_view kSweepForm =
    "accepted: KEY=LOW:HIGH, then :xFACTOR or :+STEP, as width=256:8192:x2";

// The values from low to high; `step` is "x2", "+256" or empty.
std::vector<double> sweep_values(std::string_view place, std::string_view text, double low,
                                 double high, std::string_view step) {
  double factor = 2;
  double add = 0;
  if (!step.empty()) {
    const auto number = leading_number(step.substr(1));
    if ((step[0] != 'x' && step[0] != '+') || !number || !number->rest.empty()) {
      reject(place, text, "has no such step '" + shown(step) + "'; " + std::string(kSweepForm));
    }
    (step[0] == 'x' ? factor : add) = number->value;
    if (step[0] == 'x' && !(factor > 1)) reject(place, text, "needs a factor above 1");
    if (step[0] == '+' && !(add >= 1)) reject(place, text, "needs a step of at least 1");
  }
  std::vector<double> values;
  double exact = low;
  std::size_t steps = 0;  // more than values: a small factor steps within one whole number
  while (std::round(exact) <= high) {
    const double value = std::round(exact);
    if (values.empty() || value > values.back()) values.push_back(value);
    const double next = add > 0 ? exact + add : exact * factor;
    if (++steps > kMostSweepPoints || next <= exact) {
      reject(place, text,
             "takes more than " + std::to_string(kMostSweepPoints) + " steps; give a larger one");
    }
    exact = next;
  }
  if (values.size() < 2)
    reject(place, text, "has one point only; the step must fit between the ends");
  return values;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string result;
  for (char c : text.substr(0, kMost)) result += c >= 0x20 && c < 0x7f ? c : '?';
  if (text.size() > kMost) result += "...";
  return result;
}

std::string shown(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.15g", value);
  return text.data();
}

int parse_count(std::string_view place, std::string_view text, int least, int most) {
  const auto number = leading_number(text);
  if (!number || !number->rest.empty() || number->value != std::floor(number->value) ||
      number->value < least || number->value > most) {
    reject(place, text,
           "is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int>(number->value);
}

double parse_percent(std::string_view place, std::string_view text, double most) {
  const auto number = leading_number(text);
  const std::string accepted =
      "; accepted: 0% to " + std::to_string(static_cast<int>(100 * most)) + "%, as 10%";
  if (!number) reject(place, text, without_number(text) + accepted);
  if (number->rest != "%") reject(place, text, "is no percentage, which ends in %" + accepted);
  if (number->value > 100 * most) reject(place, text, "is out of range" + accepted);
  return number->value / 100;
}

double parse_amount(std::string_view place, std::string_view text) {
  return parse_with_unit(place, text, kAmounts,
                         "a number such as 350000000 or 350M (K, M, B or G, T)");
}

Bytes parse_size(std::string_view place, std::string_view text) {
  return Bytes(
      parse_with_unit(place, text, kSizes, "a size such as 25MiB (" + names(kSizes) + ")"));
}

BytesPerSecond parse_rate(std::string_view place, std::string_view text) {
  return BytesPerSecond(parse_with_unit(
      place, text, kRates, "a rate such as 25GB/s (bytes) or 200Gb/s (bits): " + names(kRates)));
}

Seconds parse_time(std::string_view place, std::string_view text) {
  return Seconds(
      parse_with_unit(place, text, kTimes, "a time such as 120ms (" + names(kTimes) + ")"));
}

std::vector<std::string> parse_list(std::string_view place, std::string_view text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(',', begin);
    const std::string_view word =
        text.substr(begin, end == std::string_view::npos ? end : end - begin);
    if (word.empty())
      reject(place, text, "has an empty entry; separate values by single commas, as 2,4,8");
    words.emplace_back(word);
    if (end == std::string_view::npos) return words;
    begin = end + 1;
  }
}

Sweep parse_sweep(std::string_view place, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  if (equals == 0 || equals == std::string_view::npos || colon == std::string_view::npos ||
      colon < equals) {
    reject(place, text, "is no sweep; " + std::string(kSweepForm));
  }
  const std::size_t second = text.find(':', colon + 1);
  Sweep sweep;
  sweep.key = std::string(text.substr(0, equals));
  const double low = whole(place, text, text.substr(equals + 1, colon - equals - 1));
  const double high =
      whole(place, text,
            text.substr(colon + 1, second == std::string_view::npos ? second : second - colon - 1));
  if (!(high > low)) reject(place, text, "must end above where it begins");
  std::string_view step;
  if (second != std::string_view::npos) {
    step = text.substr(second + 1);
    if (step.empty()) reject(place, text, "ends in an empty step; " + std::string(kSweepForm));
  }
  sweep.values = sweep_values(place, text, low, high, step);
  return sweep;
}

}  // namespace ddpx
