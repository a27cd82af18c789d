// How fast a chip's clock lets products run, given how busy they keep it.
//
// A part with a power limit (a 70 W T4) runs a short burst between two waits at its full clock, a
// step that never pauses at the clock the limit allows, and slower still once it is hot. One-GPU
// runs, from which products are calibrated, never pause.
#pragma once

#include "model/machine.hpp"

namespace ddpx {

// Share of a power reading that the device works, as a moment of work finds it, when every step
// takes `step` and works a share `busy` of it without pause. Readings average `window` after
// `window` and keep no time with the steps (Yang et al. 2024, arXiv:2312.02741: 100 ms on Turing).
// `busy` for steps far shorter than a reading; near 1 where the work of one step fills readings.
[[nodiscard]] double busy_in_reading(double busy, Seconds step, Seconds window);

// Time of products over their calibrated time when the device works a share `busy` of a step that
// takes `step`. The limit bounds busy x f^3 in every reading, so the clock may rise to the inverse
// cube root of that, up to the full clock; heat that builds up over a long run lowers both alike.
// `z` moves what is known of the clock by standard errors, slower above 0. 1 for a machine that
// knows neither boost nor sustained. `hot` is after a long run: a step on one GPU, which speedup is
// against, is timed in a short one.
[[nodiscard]] double clock_factor(const Machine& machine, double busy, Seconds step, double z,
                                  bool hot = true);

}  // namespace ddpx
