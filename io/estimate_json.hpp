// A constant with its standard error in JSON: {"value": 4.05e9, "relative_error": 0.02, "origin":
// "fitted ..."}
#pragma once

#include "io/json_reader.hpp"
#include "model/estimate.hpp"

namespace ddpx::io {

// `range`: what may stand as the value.
template <class Q>
[[nodiscard]] Estimate<Q> estimate_of(const Reader& from, const Plausible& range) {
  from.only({"value", "relative_error", "origin"});
  Estimate<Q> estimate;
  estimate.value = Q(from.at("value").plausible(range));
  estimate.relative_error = from.at("relative_error").plausible(kRelativeError);
  if (const auto origin = from.find("origin")) estimate.origin = origin->text();
  return estimate;
}

template <class Q>
[[nodiscard]] JsonObject estimate_json(const Estimate<Q>& estimate) {
  JsonObject members;
  if constexpr (std::is_arithmetic_v<Q>) {
    members.emplace_back("value", estimate.value);
  } else {
    members.emplace_back("value", estimate.value.value());
  }
  members.emplace_back("relative_error", estimate.relative_error);
  members.emplace_back("origin", estimate.origin);
  return members;
}

}  // namespace ddpx::io
