#include "io/forecast_parts_json.hpp"

namespace ddpx::io {
namespace {

JsonObject terms_json(const Step& step) {
  JsonObject members;
  for (std::size_t i = 0; i < kTerms; ++i) {
    members.emplace_back(name(static_cast<Term>(i)), step.terms.at(i).value());
  }
  return members;
}

JsonObject sensitivity_json(const Forecast& forecast) {
  JsonObject members;
  for (std::size_t i = 0; i < kSources; ++i) {
    members.emplace_back(name(static_cast<Source>(i)), forecast.sensitivity.at(i));
  }
  return members;
}

}  // namespace

JsonObject interval_json(const Interval& interval) {
  JsonObject members;
  members.emplace_back("value", interval.value);
  members.emplace_back("low", interval.low);
  members.emplace_back("high", interval.high);
  return members;
}

JsonValue optional_json(const std::optional<double>& value) {
  return value ? JsonValue(*value) : JsonValue();
}

void append_forecast(JsonObject& members, const Forecast& forecast) {
  members.emplace_back("step_time_s", interval_json(forecast.step_time_s));
  members.emplace_back("speedup", interval_json(forecast.speedup));
  members.emplace_back("samples_per_s", interval_json(forecast.samples_per_s));
  members.emplace_back("verdict",
                       forecast.verdict ? JsonValue(name(*forecast.verdict)) : JsonValue());
  members.emplace_back("communication_share", forecast.step.communication_share());
  members.emplace_back("communication_busy_share", forecast.step.communication_busy_share());
  members.emplace_back("terms_s", terms_json(forecast.step));
  members.emplace_back("bound_by", name(forecast.step.bound_by()));
  members.emplace_back("buckets", forecast.buckets);
  members.emplace_back("one_gpu_step_time_s", forecast.one_gpu_step_s);
  members.emplace_back("one_gpu_measured", forecast.one_gpu_measured);
  members.emplace_back("work_scale", forecast.work_scale);
  members.emplace_back("sensitivity", sensitivity_json(forecast));
}

void append_crossing(JsonObject& members, const Crossing& crossing, std::string_view x_key) {
  JsonObject x = interval_json(crossing.x);
  for (auto& [key, value] : x) {  // an end outside the sweep is not known
    if ((key == "low" && crossing.low_beyond) || (key == "high" && crossing.high_beyond))
      value = JsonValue();
  }
  members.emplace_back(x_key, std::move(x));
  members.emplace_back("bracket", JsonArray{crossing.bracket_low, crossing.bracket_high});
  members.emplace_back("pays", name(crossing.pays));
}

}  // namespace ddpx::io
