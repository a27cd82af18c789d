// The lists a plan starts from: what a quick and what a full calibration measure.
#pragma once

#include <functional>
#include <vector>

#include "profiler/plan.hpp"

namespace ddpx {

// Whether a piece of work can be done here, and within bearable time.
using Possible = std::function<bool(const Work&)>;

// Every task the options ask for that is possible, each with its level of refinement and stopping
// rule, without estimates.
[[nodiscard]] std::vector<Task> full_grid(const PlanOptions& options, int ranks,
                                          const Possible& possible);

[[nodiscard]] Seconds standard_budget(Effort effort);

// Level of each of `count` values in order: 0 for the first and the last, 1 for the one in the
// middle, 2 for the middles of both halves.
[[nodiscard]] std::vector<int> refinement_levels(std::size_t count);

}  // namespace ddpx
