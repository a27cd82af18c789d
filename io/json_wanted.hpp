// A file that should be one of ours or a log, and is neither.
#pragma once

#include <string_view>

namespace ddpx::io {

// Throws InputError where `text` cannot be a JSON object: with what it looks like instead (nothing,
// a topology matrix, copies of nvbandwidth) and with `accepted`.
void want_json(std::string_view text, std::string_view place, std::string_view accepted);

}  // namespace ddpx::io
