// Values as text for people: three significant digits, plain ASCII.
#pragma once

#include <string>
#include <string_view>

#include "model/estimate.hpp"
#include "model/units.hpp"
#include "text/page.hpp"
#include "text/table.hpp"
#include "text/unicode.hpp"

namespace ddpx {

// "1.87", "0.315", "12.0", "1.2e+09" beyond six digits.
[[nodiscard]] std::string three_digits(double value);
// "543K", "33.7M", "1.7B".
[[nodiscard]] std::string amount_text(double value);
// "9.81 us", "12.3 ms", "1.2 s".
[[nodiscard]] std::string time_text(Seconds time, int digits = 3);
// "25.2 MB": powers of 1000.
[[nodiscard]] std::string size_text(Bytes size);
[[nodiscard]] std::string rate_text(BytesPerSecond rate, int digits = 3);
// "12 %", "0.4 %".
[[nodiscard]] std::string percent_text(double fraction);
// "1.87x", and "1.87 (1.78-1.96)" with its interval.
[[nodiscard]] std::string factor_text(double factor);
[[nodiscard]] std::string interval_text(const Interval& interval);
// A batch or a GPU count: whole unless it is not.
[[nodiscard]] std::string count_text(double value);

// At most `most` columns, the end replaced by "..".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace ddpx
