// What the libraries underneath are and how they are set up.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/measurement.hpp"

namespace ddpx::cpu {

// How `ranks` ranks, `ranks_on_host` of them here, reach each other by Open MPI's switches; none
// for one rank.
[[nodiscard]] std::optional<LinkDescription> link_between(int ranks, int ranks_on_host);

// Versions of MPI and BLAS, and the switches of Open MPI that are set.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_context();

}  // namespace ddpx::cpu
