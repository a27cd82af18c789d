// Costs per count by least squares, none below zero.
#pragma once

#include <span>
#include <vector>

namespace ddpx {

// sum over j of costs[j] x counts[j] = value, the row's error counted in units of `scale`.
struct CountedRow {
  std::vector<double> counts;
  double value = 0;
  double scale = 1;
};

struct CountedCosts {
  std::vector<double> each;    // one per count
  std::vector<double> errors;  // one standard error of each; 0 of a cost that is 0
  double residual = 0;         // root mean square of what is left, in units of the rows' scales

  [[nodiscard]] double of(const CountedRow& row) const;
};

// Rows must have equally many counts, at most eight. Of all sets of costs whose least squares come
// out above zero (Lawson & Hanson 1974, chapter 23, by enumeration) the one is taken that leaves
// the least variance s^2, squares over rows - costs (Theil's adjusted R^2): a further cost must be
// larger than its standard error, or noise would decide how costs that mostly come together share
// what they take. Where rows cannot tell counts apart at all, the earlier ones get everything.
// Errors are the diagonal of s^2 (A^T A)^-1; with no row to spare, all of each cost.
[[nodiscard]] CountedCosts counted_costs(std::span<const CountedRow> rows);

// The least squares with no cost below zero, of any number of counts (Lawson & Hanson 1974, chapter
// 23: the cost that would help most enters, and what falls below zero leaves). Errors are 0.
[[nodiscard]] CountedCosts costs_not_below_zero(std::span<const CountedRow> rows);

}  // namespace ddpx
