// A document with a long list in it, printed without ever being held as values.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "io/json_value.hpp"

namespace ddpx::io {

// As print() of `members` with `count` objects as the member `key`, which are made one at a time.
[[nodiscard]] std::string print_with_records(const JsonObject& members, std::string_view key,
                                             std::size_t count,
                                             const std::function<JsonObject(std::size_t)>& record);

}  // namespace ddpx::io
