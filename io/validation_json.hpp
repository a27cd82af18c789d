// What ddpx-validate --json prints: forecasts beside measurements. Others' programs read it: names
// are kept, more may be added. Errors are fractions: 0.03 is 3 %.
#pragma once

#include <string>
#include <vector>

#include "io/schema.hpp"
#include "validation/compare.hpp"

namespace ddpx::io {

struct ValidationDocument {
  std::string machine;
  std::vector<std::string> measured;  // names of the runs
  const Comparison& comparison;
  std::vector<std::string> warnings;
};

[[nodiscard]] std::string to_json(const ValidationDocument& document, const Context& context);

}  // namespace ddpx::io
