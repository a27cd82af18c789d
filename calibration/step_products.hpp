// What whole one-GPU steps say of the products in them. Steps that the device bounds are marked so;
// one that is bound by neither device nor host has its flops set to 0 and is reported as dropped.
#pragma once

#include <vector>

#include "calibration/timed_steps.hpp"

namespace ddpx {

// With no product timed alone: a step follows the flops of its neighbours, or the host, or neither.
// Adds the products of the first kind to machine.products.
void fit_rates_from_steps(std::vector<TimedStep>& steps, Machine& machine, FitReport& report);

// With products timed alone: how much longer device-bound steps take than their parts say. The
// factor goes into every product of that dtype; sets machine.kernel_gap where steps tell it.
void close_products(std::vector<TimedStep>& steps, Machine& machine, FitReport& report);

}  // namespace ddpx
