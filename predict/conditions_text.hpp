// The four conditions of ideal scaling as text: each with its figure and what it costs.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

// Where --explain or one of the conditions was given; empty otherwise, and on one GPU.
[[nodiscard]] std::string conditions_text(const ForecastDocument& document, const ForecastRow& row);

}  // namespace ddpx
