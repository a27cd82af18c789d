// What a box's GPUs and pairs say of each other: which one is odd, what a long load costs, what
// copies and collectives cost each other, how the communication library runs its collectives.
// Sentences for people; no constant comes of them.
#pragma once

#include <string>
#include <vector>

#include "profiler/measurement.hpp"

namespace ddpx {

// In the order loads, pairs, copies, reports. Nothing measured, nothing said.
[[nodiscard]] std::vector<std::string> box_notes(const Measurements& measurements);

}  // namespace ddpx
