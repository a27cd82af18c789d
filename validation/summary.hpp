// Many errors in a few numbers, for forecasts and baselines alike.
#pragma once

#include <span>
#include <string_view>

#include "validation/compare.hpp"

namespace ddpx {

// What one row adds to a summary. A baseline has no interval: inside is false and the half-width 0.
struct Score {
  double error = 0;
  bool inside = false;
  double half_width = 0;
  std::optional<bool> verdict_right;  // nothing when the row is not judged
  bool too_close = false;
};

[[nodiscard]] Score score(const ComparedRow& row);
[[nodiscard]] ErrorSummary summarise(std::span<const Score> scores);

// The rows, largest error first; of equal errors in the order of the files.
[[nodiscard]] std::vector<const ComparedRow*> worst_first(std::span<const ComparedRow> rows);

// Fills every summary of `comparison` but the baselines' from its rows.
void summarise(Comparison& comparison);

}  // namespace ddpx
