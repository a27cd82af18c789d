// What a product and a collective cost each other, from both measured alone and side by side.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

// For each link that has such samples. On GPUs: what a product's share of the memory's bandwidth
// and its rate add to a collective beside it; sets link.beside_memory and link.beside_flops, and
// lays the wave forecast beside the products' own kernel times. On machines whose cores move the
// data themselves: time of a collective beside products = alone x factor + delay (factor >= 1,
// delay >= 0), least squares on relative error, and core seconds per byte from the products' loss;
// sets link.beside_compute and link.shared_core, and machine.shared_core for links without samples
// of their own. Of copies beside collectives it sets link.beside_copies: medians of both ratios and
// of the collectives' bus bandwidth. The machine's products and memory constants must be set.
void fit_beside(const Measurements& measurements, Machine& machine, FitReport& report);

}  // namespace ddpx
