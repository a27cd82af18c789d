// What a bus bandwidth looks like: the kinds of links that reach it, by the achievable bands of the
// shipped table of interconnects.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/units.hpp"

namespace ddpx {

// Links of one kind, and what an all-reduce of two ranks reaches on them: from the worst of the
// table's to the best.
struct LinkKind {
  std::string_view words;
  BytesPerSecond low;
  BytesPerSecond high;
  int most_gpus;  // that it joins, or networks of it
};

// Ascending by `low`. The table's bands, which a test holds them to; and 1 Gb/s Ethernet, which it
// does not have, at the 0.72 to 0.96 of line rate that it has for 10 Gb/s.
[[nodiscard]] std::span<const LinkKind> link_kinds();

// The slowest of them at its worst: no link that works gives an all-reduce less.
inline constexpr BytesPerSecond kSlowestWorkingLink{0.09e9};

// "like TCP over 10 Gb/s Ethernet": every kind that joins so many GPUs and whose band holds the
// rate, else the two of these that it lies between; below all of them where to look for a fault.
[[nodiscard]] std::string reading_of(BytesPerSecond bandwidth, int gpus);

}  // namespace ddpx
