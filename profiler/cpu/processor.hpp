// The processor core that one rank computes on.
#pragma once

#include "model/machine.hpp"

namespace ddpx::cpu {

// Binds the calling thread, and threads it starts, to one core: the n-th of those that this process
// may use, round robin, n being the rank's number on its host. One BLAS thread per rank.
void take_core(int rank_on_host);

// Name and memory of the host's processor; no multiprocessors, for a core has no wave structure.
[[nodiscard]] Device describe_core();

}  // namespace ddpx::cpu
