// A calibrated machine as a file: every constant with its error and origin, the links measured on
// it, and which measurements it came from.
#pragma once

#include <string>
#include <string_view>

#include "model/machine.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] Machine machine_from_json(std::string_view text, std::string_view place);
[[nodiscard]] std::string to_json(const Machine& machine);

}  // namespace ddpx::io
