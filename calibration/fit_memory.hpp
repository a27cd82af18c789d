// Memory constants from copies, optimizer steps and launches: bandwidths, and what a kernel takes
// beside its traffic.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// Fills machine.copy_bandwidth, optimizer_bandwidth, adamw_bandwidth where both optimizers were
// measured (and their points by working set), and kernel_gap. Throws InputError when there are
// neither samples nor priors for a bandwidth.
void fit_memory(const Measurements& measurements, const FitOptions& options, Machine& machine);

}  // namespace ddpx
