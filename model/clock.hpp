// How fast a chip's clock lets products run, given how busy they keep it.
//
// A part with a power limit (a 70 W T4) runs a short burst between two waits at its full clock, a
// step that never pauses at the clock the limit allows, and slower still once it is hot. One-GPU
// runs, from which products are calibrated, never pause.
#pragma once

#include "model/machine.hpp"

namespace ddpx {

// Time of products over their calibrated time when the device works a share `busy` of the step. The
// limit bounds the average of busy x f^3, so the clock may rise to the
// inverse cube root of that, up to the full clock; heat that builds up over a long run lowers both
// alike. `z` moves boost and sustained by standard errors. 1 for a machine that knows neither.
// `hot` is after a long run: a step on one GPU, which speedup is against, is timed in a short one.
[[nodiscard]] double clock_factor(const Machine& machine, double busy, double z, bool hot = true);

}  // namespace ddpx
