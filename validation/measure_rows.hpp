// Training for real, for --run: fresh process sets of this program, one row each, and the runs file
// of what they bring home.
#pragma once

#include <string>

#include "validation/options.hpp"

namespace ddpx {

// Measures every row the options name, writes the runs file and returns its path. When a rank fails
// or the user interrupts, the processes finished so far are written all the same and the message
// says where. Throws InputError, DeviceError or Interrupted.
[[nodiscard]] std::string measure_rows(const ValidateOptions& options);

}  // namespace ddpx
