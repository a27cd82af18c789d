// The parts of a forecast document that decide: conditions, plans, the plan chosen, a diagnosis.
#pragma once

#include "io/json_value.hpp"
#include "predict/result.hpp"

namespace ddpx::io {

[[nodiscard]] JsonValue conditions_json(const ForecastRow& row);
[[nodiscard]] JsonObject plan_json(const Plan& plan);
[[nodiscard]] JsonObject decision_json(const Decision& decision);
[[nodiscard]] JsonObject diagnosis_json(const DiagnosedRun& run);

}  // namespace ddpx::io
