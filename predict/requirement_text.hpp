// What would meet a requirement, as text.
#pragma once

#include <string>

#include "predict/result.hpp"

namespace ddpx {

[[nodiscard]] std::string requirement_text(const ForecastDocument& document,
                                           const RequirementRow& row);

}  // namespace ddpx
