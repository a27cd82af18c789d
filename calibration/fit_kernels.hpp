// What the library's kernels cost, from products whose kernels are known.
#pragma once

#include <span>

#include "model/kernel_costs.hpp"
#include "model/machine.hpp"

namespace ddpx {

// Sets machine.kernel_costs (model/kernel_costs.hpp) for every pass and dtype of which at least
// twelve products have a tile: by least squares on relative error, no cost below zero, and
// once more with products that are more than 5 % off counting that much less; and alike of each
// generation of kernels with as many, where there are several. The error is what
// nine in ten square layers lie within, each forecast from the widths that are not its own; outside
// the measured shapes, what nine in ten of ends_left_out lie within, and no less.
void fit_kernels(Machine& machine);

// ln(forecast / measured) of one square layer's product, forecast from the other widths.
struct LeftOut {
  Product product;
  double log_error = 0;
  double distance = 0;  // doublings to the nearest product that it was forecast from
};

// Of every width but the smallest and the largest. `points` (not null) are of one pass and dtype.
[[nodiscard]] std::vector<LeftOut> widths_left_out(std::span<const ProductPoint* const> points,
                                                   int multiprocessors);
// Of the fewest and the most rows, each from all others and from those beyond the next as well, and
// of the narrowest and the widest layers from the others.
[[nodiscard]] std::vector<LeftOut> ends_left_out(std::span<const ProductPoint* const> points,
                                                 int multiprocessors);

}  // namespace ddpx
