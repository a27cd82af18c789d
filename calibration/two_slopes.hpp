// Two slopes through the origin by least squares, neither below zero.
#pragma once

#include <span>

namespace ddpx {

// slope a x first + slope b x second = value, the row's error counted in units of `scale`.
struct SlopeRow {
  double first = 0;
  double second = 0;
  double value = 0;
  double scale = 1;
};

struct TwoSlopes {
  double first = 0;
  double second = 0;

  [[nodiscard]] double of(const SlopeRow& row) const {
    return first * row.first + second * row.second;
  }
};

// What a slope below zero would say belongs to the other alone; so does all of it where every row
// has both in the same proportion (then the first gets it).
[[nodiscard]] TwoSlopes two_slopes(std::span<const SlopeRow> rows);

}  // namespace ddpx
