// What ddpx-predict --json prints. Others' programs read it: names are kept, more may be added.
#pragma once

#include <string>

#include "io/schema.hpp"
#include "predict/result.hpp"

namespace ddpx::io {

[[nodiscard]] std::string to_json(const ForecastDocument& document, const Context& context);

}  // namespace ddpx::io
