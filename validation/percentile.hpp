// The one definition of a percentile that every summary of this room uses.
#pragma once

#include <vector>

namespace ddpx {

// The value at rank p (n - 1) of the sorted values, counted from 0 and linearly interpolated
// (Hyndman & Fan 1996, type 7; numpy's default). `values` must not be empty; p in [0, 1].
[[nodiscard]] double percentile(std::vector<double> values, double p);

}  // namespace ddpx
