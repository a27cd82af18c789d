// How much longer the device is idle between kernels where a step has collectives.
#pragma once

#include "model/machine.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// Sets machine.longer_gap: the native engine's from the gaps that kernel records have with and
// without collectives, borrowed where either was not measured; PyTorch's, which has none, borrowed.
// One standard error of what is borrowed is the deviation between the steps it was seen in; of what
// was measured that, and beside it s1^2/n1 + s2^2/n2 of the two means (in squares).
void lengthen_gap(const Measurements& measurements, Machine& machine);

}  // namespace ddpx
