// The charts of a validation: speedup and communication share against parameters, and forecast
// against measured steps.
#pragma once

#include "report/document.hpp"
#include "validation/compare.hpp"

namespace ddpx::report {

// One chart per family of strategies (ddp, bucket, accumulation, ...), more where a family has more
// than kMostSeries sweeps. No chart where no network was swept.
[[nodiscard]] Figure speedup_figure(const Comparison& comparison);
[[nodiscard]] Figure communication_figure(const Comparison& comparison);
// Forecast against measured step, and the error against parameters.
[[nodiscard]] Figure errors_figure(const Comparison& comparison);

}  // namespace ddpx::report
