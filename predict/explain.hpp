// Why a forecast says what it says (--explain): terms that add up to the step, the collectives and
// what they cost, what the interval rests on and what lies outside the calibration.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

[[nodiscard]] std::string explanation_text(const ForecastDocument& document,
                                           const ForecastRow& row);

}  // namespace ddpx
