// The rows that a validation judged, of what ddpx-validate --json printed (validation_json.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/learned.hpp"

namespace ddpx::io {

// Throws InputError for another schema, for what is no such document, and where it judged another
// machine than the one of this name.
[[nodiscard]] std::vector<JudgedRow> judged_rows_from_json(std::string_view text,
                                                           std::string_view place,
                                                           const std::string& machine);

}  // namespace ddpx::io
