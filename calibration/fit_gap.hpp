// How much longer the device is idle between kernels where a step has collectives.
#pragma once

#include <span>

#include "calibration/timed_steps.hpp"
#include "model/machine.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// Sets machine.shared_gap from machine.kernel_gap and the gaps that kernel records have with and
// without collectives; borrowed, by the engine of the steps, where either was not measured.
void lengthen_gap(const Measurements& measurements, std::span<const TimedStep> steps,
                  Machine& machine);

}  // namespace ddpx
