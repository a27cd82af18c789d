// What is really wrong with a run that was measured (--diagnose): the model's diagnosis, with the
// exchange weighed by the forecast over the link it ran on.
#pragma once

#include "predict/request.hpp"

namespace ddpx {

// Throws InputError.
[[nodiscard]] ForecastDocument diagnose(const Options& options, const Resolvers& resolvers);

}  // namespace ddpx
