// Numbers as people write them on a command line: "350M", "25GB/s", "200Gb/s", "10us",
// "256:8192:x2".
//
// Strict on purpose: a forecast from a misread unit looks as sound as a right one. Units are
// spelled exactly (B bytes, b bits; GB is 10^9 B, GiB 2^30 B), nothing is guessed, and every
// refusal says what is accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/units.hpp"

namespace ddpx {

// Each throws InputError at `place` (the flag) for anything but one whole number with its unit and
// nothing around it.

// "8": a whole number in [least, most].
[[nodiscard]] int parse_count(std::string_view place, std::string_view text, int least, int most);
// "350M", "1.7B", "7e9": a positive number; K, M, B (or G) and T are powers of 1000.
[[nodiscard]] double parse_amount(std::string_view place, std::string_view text);
// "25MB", "1GiB".
[[nodiscard]] Bytes parse_size(std::string_view place, std::string_view text);
// "25GB/s", "25GiB/s", "200Gb/s".
[[nodiscard]] BytesPerSecond parse_rate(std::string_view place, std::string_view text);
// "10us", "1.5ms", "2s", "800ns".
[[nodiscard]] Seconds parse_time(std::string_view place, std::string_view text);

// "10%" as 0.1, from 0 to `most` (a fraction).
[[nodiscard]] double parse_percent(std::string_view place, std::string_view text, double most);

// The words of a comma-separated list, none empty.
[[nodiscard]] std::vector<std::string> parse_list(std::string_view place, std::string_view text);

// "width=256:8192", ":x2" or ":+256" after it for the step; doubling is usual. The values are
// whole, ascending and distinct; the upper end is a value only when a step reaches it.
struct Sweep {
  std::string key;
  std::vector<double> values;
};
inline constexpr std::size_t kMostSweepPoints = 1'000'000;
[[nodiscard]] Sweep parse_sweep(std::string_view place, std::string_view text);

// The word as it may stand in a one-line message: control bytes replaced, cut when very long.
[[nodiscard]] std::string shown(std::string_view text);
// The number as it may stand there: in 15 digits, as many as a double keeps of what was written.
[[nodiscard]] std::string shown(double value);

}  // namespace ddpx
