// From gathered measurements to the file that is written and what is said about it.
#pragma once

#include <string>

#include "calibration/gather.hpp"

namespace ddpx {

struct Fitted {
  std::string file;     // a machine, or links where nothing else was measured
  std::string summary;  // for people
};

[[nodiscard]] Fitted fit(const Gathered& gathered, bool every_residual);

}  // namespace ddpx
