// Raw measurements as a file: one sample a line, so that two campaigns can be compared with diff.
// It is never edited after it was written.
#pragma once

#include <string>
#include <string_view>

#include "profiler/measurement.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] Measurements measurements_from_json(std::string_view text, std::string_view place);
[[nodiscard]] std::string to_json(const Measurements& measurements);

}  // namespace ddpx::io
