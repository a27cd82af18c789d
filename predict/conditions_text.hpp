// The four conditions of ideal scaling as text: each with its figure and what it costs.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

// Of every row where --explain or one of the conditions was given; empty otherwise.
[[nodiscard]] std::string conditions_text(const ForecastDocument& document);

}  // namespace ddpx
