// Numbers as people read them. Numbers that are not finite become a dash: no report prints "nan".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/estimate.hpp"

namespace ddpx::report {

inline constexpr std::string_view kNothing = "–";

// A fraction as "3.9 %"; three significant digits at most, whole from 10 % on: "0.34 %", "3.9 %",
// "27 %".
[[nodiscard]] std::string percent(double fraction);
// The same with its sign: "+3.9 %".
[[nodiscard]] std::string signed_percent(double fraction);
// "512 B", "2.05 MB", "32.3 MB" (powers of 1000).
[[nodiscard]] std::string bytes_text(double bytes);
// "2.52 ms", "13.9 ms", "1.20 s", "9.1 us".
[[nodiscard]] std::string seconds_text(double seconds);
// "542k", "8.46M", "1.70B".
[[nodiscard]] std::string count_text(double count);
// Three significant digits, no exponent.
[[nodiscard]] std::string number_text(double value);
// "1.31 (1.22 to 1.40)".
[[nodiscard]] std::string interval_text(const Interval& interval);
// "13.9 (13.1 to 14.7) ms": value and edges in the unit of the value.
[[nodiscard]] std::string seconds_interval_text(const Interval& seconds);
// "1 row", "3 rows".
[[nodiscard]] std::string counted(std::size_t n, std::string_view singular);

}  // namespace ddpx::report
