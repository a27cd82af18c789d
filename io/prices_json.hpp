// Prices of rented machines, by hand:
//
//   {"schema": "ddpx.prices", "schema_version": 1, "context": {}, "currency": "EUR",
//    "machines": [{"name": "4x RTX 4090", "gpus": 4, "price_per_hour": 0.58, "link": "pcie4"}]}
#pragma once

#include <string_view>

#include "io/schema.hpp"
#include "model/price.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] Prices prices_from_json(std::string_view text, std::string_view place);

}  // namespace ddpx::io
