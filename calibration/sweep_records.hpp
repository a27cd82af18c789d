// What a backend can say of operations that were timed: its kernels' grids, and how the
// collectives' library ran them. Asked after all timing, which recording must not touch.
#pragma once

#include "profiler/backend.hpp"
#include "profiler/measurement.hpp"

namespace ddpx {

// By kernel records; false where there are none.
[[nodiscard]] bool record_product(Backend& backend, ProductSample& sample);
// Those of every product that has none yet and, from that of the largest all-reduce, the last
// link's channels.
void record_kernels(Backend& backend, Measurements& measurements);

// How the library says that it ran each collective; the last link's channels where no kernel record
// has told them.
void ask_for_reports(Backend& backend, Measurements& measurements);

}  // namespace ddpx
