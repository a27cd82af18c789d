// One compared row: the forecast's members, then the measurement and the error.
#pragma once

#include <string_view>

#include "io/json_value.hpp"
#include "validation/compare.hpp"

namespace ddpx::io {

[[nodiscard]] JsonObject compared_row_json(const ComparedRow& row, std::string_view machine);

}  // namespace ddpx::io
