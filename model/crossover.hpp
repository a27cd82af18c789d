// Where adding GPUs stops (or starts) paying: the crossings of speedup = 1 along a sweep.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/forecast.hpp"

namespace ddpx {

struct SweepPoint {
  double x = 0;  // parameters, or any positive size
  Interval speedup;
};

enum class PaysSide { below, above };
[[nodiscard]] std::string_view name(PaysSide side);

struct Crossing {
  // Log-log interpolation between the bracket's points; low and high where the interval's edges
  // cross, or the sweep's end where they do not within it.
  Interval x;
  double bracket_low = 0;  // the points it lies between
  double bracket_high = 0;
  PaysSide pays = PaysSide::below;  // on which side another GPU pays
  bool low_beyond = false;          // the interval goes on below the sweep
  bool high_beyond = false;         // and above it
};

// Every crossing along `points` (ascending x), by log-log interpolation of speedup between
// neighbours. A curve crosses either way, several times or never.
[[nodiscard]] std::vector<Crossing> crossings(std::span<const SweepPoint> points);

// Smallest batch per rank from which on more GPUs pay (speedup >= 1), searched over [low, high] by
// bisection on a power-of-two grid refined to 1 %; nullopt when the largest batch still does not
// pay. `speedup_at` is called with a batch per rank.
[[nodiscard]] std::optional<double> break_even_batch(
    const std::function<double(double)>& speedup_at, double low, double high);

}  // namespace ddpx
