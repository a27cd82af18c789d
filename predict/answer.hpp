// What ddpx-predict answers to its options, in the form asked for.
#pragma once

#include <string>

#include "cli/program.hpp"
#include "predict/options.hpp"

namespace ddpx {

struct Answer {
  std::string text;  // empty where it went to standard output while it was forecast
  ExitCode code = ExitCode::success;
};

// Warnings and what names resolved to are said on standard error. Throws InputError, of the flag
// that named what is refused.
[[nodiscard]] Answer answer(const Options& options);

}  // namespace ddpx
