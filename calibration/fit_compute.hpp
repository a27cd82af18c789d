// The compute side of the fit: products from kernel times or, where only whole steps were timed,
// from those.
#pragma once

#include "calibration/fit.hpp"

namespace ddpx {

struct SampleSummary {
  double median = 0;
  double relative_error = 0;  // standard error of the median, with a floor
};

// Median and its standard error from the median absolute deviation; one value alone gets the floor.
[[nodiscard]] SampleSummary summarise(std::span<const double> seconds, double floor);

// The network a step was measured on. Throws InputError that names the measurements.
[[nodiscard]] Network network_of(const StepSample& sample, const Measurements& measurements);

// Fills machine.products, machine.host[torch].step_per_tensor (from host-bound steps) and
// machine.sustained. The machine's memory constants must be set.
void fit_compute(const Measurements& measurements, const FitOptions& options, Machine& machine,
                 FitReport& report);

}  // namespace ddpx
