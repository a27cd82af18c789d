// The steps that a validation judged, of what ddpx-validate --json printed (validation_json.hpp).
#pragma once

#include <string_view>
#include <vector>

#include "model/learned.hpp"

namespace ddpx::io {

// Throws InputError for another schema, for what is no such document, and where it judged another
// machine than this or one fitted on other measurements.
[[nodiscard]] std::vector<JudgedStep> judged_steps_from_json(std::string_view text,
                                                             std::string_view place,
                                                             const Machine& machine);

}  // namespace ddpx::io
