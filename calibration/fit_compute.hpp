// The compute side of the fit: products from kernel times or, where only whole steps were timed,
// from those.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// Fills machine.products, machine.host[torch].step_per_tensor (from host-bound steps) and
// machine.sustained. The machine's memory constants must be set.
void fit_compute(const Measurements& measurements, const FitOptions& options, Machine& machine,
                 FitReport& report);

}  // namespace ddpx
