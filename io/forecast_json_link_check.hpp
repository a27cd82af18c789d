// What ddpx-predict --check-link --json prints.
#pragma once

#include <string>

#include "io/schema.hpp"
#include "predict/check_link.hpp"

namespace ddpx::io {

[[nodiscard]] std::string to_json(const LinkCheck& check, const Context& context);

}  // namespace ddpx::io
