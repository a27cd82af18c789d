// Plans as text: which to take, what the batch does to the samples, and a table of time and cost.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

// Empty where neither time to target nor money was asked for.
[[nodiscard]] std::string plans_text(const ForecastDocument& document);

// "12.5 h", "3.1 days"; below two minutes as time_text.
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace ddpx
