// A validation in a terminal of 80 columns: the verdict in words, the summary, the largest errors.
#pragma once

#include <string>

#include "report/validation_facts.hpp"

namespace ddpx::report {

[[nodiscard]] std::string validation_text(const ValidationFacts& facts);

// Broken at spaces into lines of at most 80 columns; lines after the first begin with `indent`
// spaces, the first goes on after `column` characters. A word longer than a line is broken.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent = 0,
                                  std::size_t column = 0);

}  // namespace ddpx::report
