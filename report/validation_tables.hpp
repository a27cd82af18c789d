// The tables of a validation report.
#pragma once

#include "report/document.hpp"
#include "validation/compare.hpp"

namespace ddpx::report {

[[nodiscard]] Table summary_table(const Comparison& comparison);
[[nodiscard]] Table strategy_table(const Comparison& comparison);
[[nodiscard]] Table conformal_table(const Comparison& comparison);
[[nodiscard]] Table baseline_table(const Comparison& comparison);
[[nodiscard]] Table crossing_table(const Comparison& comparison);
// The rows whose verdict was wrong; of no rows when none was.
[[nodiscard]] Table misses_table(const Comparison& comparison);
[[nodiscard]] Table rows_table(const Comparison& comparison);

}  // namespace ddpx::report
