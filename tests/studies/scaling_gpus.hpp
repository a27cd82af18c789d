// The part of the scaling study about GPU types.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace ddpx::study {

[[nodiscard]] std::string gpus_text(const nlohmann::json& pairs);

}  // namespace ddpx::study
