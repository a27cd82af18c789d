// The decisions of a forecast document in JSON: strategies[] and requirements[].
#pragma once

#include "io/json_value.hpp"
#include "predict/result.hpp"

namespace ddpx::io {

// Nothing where they were not asked for.
void append_decisions(JsonObject& members, const ForecastDocument& document);

}  // namespace ddpx::io
