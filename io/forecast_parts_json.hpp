// The members that a forecast and a validation share: others' programs find the same name in both.
#pragma once

#include <optional>
#include <span>

#include "io/json_value.hpp"
#include "model/crossover.hpp"
#include "model/forecast.hpp"

namespace ddpx::io {

[[nodiscard]] JsonObject interval_json(const Interval& interval);

// null where there is no number.
[[nodiscard]] JsonValue optional_json(const std::optional<double>& value);

// step_time_s, speedup, samples_per_s, verdict, the step's terms and what bounds it.
void append_forecast(JsonObject& members, const Forecast& forecast);

// {x_key: {value, low, high}, "bracket": [low, high], "pays": "below"}
void append_crossing(JsonObject& members, const Crossing& crossing, std::string_view x_key);

}  // namespace ddpx::io
