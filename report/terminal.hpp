// A validation in a terminal: the verdict in words, the summary, the largest errors.
#pragma once

#include <string>

#include "report/validation_facts.hpp"

namespace ddpx::report {

[[nodiscard]] std::string validation_text(const ValidationFacts& facts);

}  // namespace ddpx::report
