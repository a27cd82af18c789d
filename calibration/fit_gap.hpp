// How much longer the device is idle between kernels where a step has collectives.
#pragma once

#include "model/machine.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// Sets machine.longer_gap: the native engine's from the gaps that kernel records have with and
// without collectives, borrowed where either was not measured; PyTorch's, which has none, borrowed.
void lengthen_gap(const Measurements& measurements, Machine& machine);

}  // namespace ddpx
