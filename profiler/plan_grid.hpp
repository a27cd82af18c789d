// The lists a plan starts from: what a quick and what a full calibration measure.
#pragma once

#include <vector>

#include "profiler/plan.hpp"

namespace ddpx {

// Every task the options ask for, each with its level of refinement and stopping rule, without
// estimates.
[[nodiscard]] std::vector<Task> full_grid(const PlanOptions& options, int ranks);

[[nodiscard]] Seconds standard_budget(Effort effort);

// Level of each of `count` values in order: 0 for the first and the last, 1 for the one in the
// middle, 2 for the middles of both halves.
[[nodiscard]] std::vector<int> refinement_levels(std::size_t count);

}  // namespace ddpx
