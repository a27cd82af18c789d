// A link with more bandwidth or another latency, everything else as it is.
//
// A measured curve is scaled as a whole. With f times the bandwidth a message of S bytes takes what
// S/f took: exact where time is latency + S/bandwidth, and NCCL's protocol steps move with the
// bandwidth. With f times the latency every size loses (1 - f) of the smallest message's time. What
// a collective was left beside copies (BesideCopies) stays: the memory is not the link's.
#pragma once

#include "model/link.hpp"

namespace ddpx {

// Throw InputError for a factor that is not positive. A link of two levels scales on both.
[[nodiscard]] Link with_bandwidth(const Link& link, double factor);
[[nodiscard]] Link with_latency(const Link& link, double factor);

// Time of the smallest all-reduce: measured, or the figure.
[[nodiscard]] Seconds latency_of(const Link& link);

}  // namespace ddpx
