// Relative changes of a value by independent sources, upwards and downwards apart: a step that is
// the larger of two streams gives way to one side more than to the other. Squares add up.
#pragma once

#include <algorithm>
#include <cmath>

#include "model/estimate.hpp"

namespace ddpx {

struct Spread {
  double up = 0;
  double down = 0;

  // `change` is the logarithm of a ratio, so that no side can pass zero.
  void add(double change) { (change > 0 ? up : down) += change * change; }
  // Of two changes by one source only the larger counts on each side.
  void add_larger(double one, double other) {
    add(std::max({one, other, 0.0}));
    add(std::min({one, other, 0.0}));
  }
  void add_error(double standard_error) { add_larger(standard_error, -standard_error); }
  [[nodiscard]] Interval around(double value) const {
    return {value, value * std::exp(-kNormalQuantile90 * std::sqrt(down)),
            value * std::exp(kNormalQuantile90 * std::sqrt(up))};
  }
};

}  // namespace ddpx
