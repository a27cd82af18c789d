// Values as text for people: three significant digits, plain ASCII, lines of at most 80 columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/estimate.hpp"
#include "model/units.hpp"

namespace ddpx {

inline constexpr std::size_t kColumns = 80;
inline constexpr std::size_t kFewestColumns = 40;

// Words are broken to so many columns from now on: between 40 and 80. Tables keep to 80.
void use_columns(std::size_t columns);

// "1.87", "0.315", "12.0", "1.2e+09" beyond six digits.
[[nodiscard]] std::string three_digits(double value);
// "543K", "33.7M", "1.7B".
[[nodiscard]] std::string amount_text(double value);
// "9.81 us", "12.3 ms", "1.2 s".
[[nodiscard]] std::string time_text(Seconds time);
// "25.2 MB": powers of 1000.
[[nodiscard]] std::string size_text(Bytes size);
[[nodiscard]] std::string rate_text(BytesPerSecond rate);
// "12 %", "0.4 %".
[[nodiscard]] std::string percent_text(double fraction);
// "1.87x", and "1.87 (1.78-1.96)" with its interval.
[[nodiscard]] std::string factor_text(double factor);
[[nodiscard]] std::string interval_text(const Interval& interval);
// A batch or a GPU count: whole unless it is not.
[[nodiscard]] std::string count_text(double value);

// Names come from users and files: control bytes and everything beyond ASCII become '?'.
[[nodiscard]] std::string ascii(std::string_view text);
// At most `most` columns, the end replaced by "..".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);
struct Wrapping {
  std::size_t first = 0;  // indentation of the first line and of the others
  std::size_t rest = 0;
};
// Broken at spaces into lines of at most kColumns, or as use_columns() said; "90 %" stays together.
// A word longer than a line is broken inside, behind a slash where it has one (an address).
[[nodiscard]] std::string wrapped(std::string_view text, const Wrapping& wrapping = {});

// Columns of text with two spaces between, numbers to the right.
class TextTable {
 public:
  struct Column {
    std::string head;
    bool left = false;  // words; numbers align right
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::size_t width() const;
  // One line per row, the heads above. Lines are cut at kColumns.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddpx
