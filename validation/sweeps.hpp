// Rows as curves over size: what the charts draw, and where another GPU stops (or starts) paying.
// Forecast and measurement are interpolated alike on the same points, because between widths 4x
// apart interpolation alone moves a crossing by 30 %.
#pragma once

#include <span>
#include <vector>

#include "validation/compare.hpp"

namespace ddpx {

// Fewer measured sizes than this say too little of where a curve crosses.
inline constexpr std::size_t kPointsOfACrossing = 3;

// The sweeps in `rows`, those of two sizes or more, in the order of their first rows.
[[nodiscard]] std::vector<SweepComparison> sweeps_of(std::span<const ComparedRow> rows);

[[nodiscard]] CrossingComparison compare_crossings(const SweepComparison& sweep);

}  // namespace ddpx
