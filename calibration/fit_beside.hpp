// What a product and a collective cost each other, from both measured alone and side by side.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// Time of a collective beside products: alone x factor + delay (factor >= 1, delay >= 0), least
// squares on relative error; core seconds per byte from the products' loss. For each link that has
// such samples, on machines whose cores move the data themselves; sets link.beside_compute and
// link.shared_core, and machine.shared_core for links without samples of their own.
void fit_beside(const Measurements& measurements, Machine& machine, FitReport& report);

}  // namespace ddpx
