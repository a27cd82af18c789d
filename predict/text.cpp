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

std::string scaled(double value, const Scale* begin, const Scale* end) {
  const Scale* scale = begin;
  // 0.9995: what rounds up to 1.00 of a unit belongs to it.
  while (scale + 1 != end && value >= 0.9995 * (scale + 1)->factor) ++scale;
  return three_digits(value / scale->factor) + scale->unit;
}

std::size_t words_within = kColumns;

constexpr char kTie = '\x1f';  // a space that no line ends in

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
std::string time_text(Seconds time) {
  return scaled(time.value(), std::begin(kTimes), std::end(kTimes));
}
std::string size_text(Bytes size) {
  return scaled(size.value(), std::begin(kSizes), std::end(kSizes));
}
std::string rate_text(BytesPerSecond rate) {
  return scaled(rate.value(), std::begin(kSizes), std::end(kSizes)) + "/s";
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

std::string ascii(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  if (most < 3) return std::string(text.substr(0, most));
  return std::string(text.substr(0, most - 2)) + "..";
}

void use_columns(std::size_t columns) {
  words_within = std::clamp(columns, kFewestColumns, kColumns);
}

std::string wrapped(std::string_view given, const Wrapping& wrapping) {
  std::string tied(given);
  for (std::size_t at = tied.find(" %"); at != std::string::npos; at = tied.find(" %", at))
    tied[at] = kTie;
  std::string_view text = tied;
  std::string result(wrapping.first, ' ');
  std::size_t column = wrapping.first;
  bool begins = true;  // no word on this line yet
  const auto new_line = [&] {
    result += "\n" + std::string(wrapping.rest, ' ');
    column = wrapping.rest;
    begins = true;
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!begins && column + 1 + word.size() > words_within) new_line();
    if (!begins) {
      result += ' ';
      ++column;
    }
    while (column + word.size() > words_within) {
      std::size_t part = words_within - column;
      if (const std::size_t slash = word.substr(0, part).rfind('/');
          slash != std::string_view::npos && slash > 0)
        part = slash + 1;
      result += word.substr(0, part);
      word.remove_prefix(part);
      new_line();
    }
    result += word;
    column += word.size();
    begins = false;
  }
  std::replace(result.begin(), result.end(), kTie, ' ');
  return result + "\n";
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.head.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (std::size_t width : widths()) sum += width + 2;
  return sum < 2 ? 0 : sum - 2;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string result;
  const auto line = [&](const auto& cell_of) {
    std::string row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = cell_of(i);
      const std::string pad(width[i] - cell.size(), ' ');
      if (i > 0) row += "  ";
      row += columns_[i].left ? std::string(cell) + pad : pad + std::string(cell);
    }
    row.resize(std::min(row.size(), kColumns));
    row.erase(row.find_last_not_of(' ') + 1);
    result += row + "\n";
  };
  line([&](std::size_t i) -> std::string_view { return columns_[i].head; });
  for (const auto& row : rows_) line([&](std::size_t i) -> std::string_view { return row[i]; });
  return result;
}

}  // namespace ddpx
