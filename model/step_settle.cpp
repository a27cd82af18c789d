// The clock and the scale of the work that a step is walked with, and the walk: see step.hpp.
#include <algorithm>
#include <cmath>

#include "model/clock.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

double busy_share(const Step& step) {
  const double waiting =
      step.communication_share() + (step.term(Term::host) + step.term(Term::loader)) / step.total();
  return std::clamp(1.0 - waiting, 0.01, 1.0);
}

// The clock at which a step keeps the device as busy as that clock allows; `step_at` walks it at
// one.
template <class StepAt>
double clock_settled(const Machine& machine, double z, bool hot, StepAt step_at) {
  double factor = 1.0;
  // Only power (boost) makes the clock depend on how busy the step is.
  if (!machine.boost) return clock_factor(machine, factor, Seconds(1), z, hot);
  // The clock decides the busy share and the share the clock; two rounds settle it to a few parts
  // in a thousand.
  for (int round = 0; round < 2; ++round) {
    const Step step = step_at(factor);
    factor = clock_factor(machine, busy_share(step), step.total(), z, hot);
  }
  return factor;
}

}  // namespace

// Timed, or carried from other sizes: then as unsure as it is on several GPUs, and together with
// it.
double StepModel::scale_alone(const Shift& shift) const {
  if (scale_.measured != nullptr) return scale_.factor;
  return scale_.factor * std::exp(shift.of(Source::compute) * scale_.error());
}

// Nobody timed that several GPUs have what makes one GPU's step slower or faster than its parts.
double StepModel::scale_of(const Shift& shift) const {
  if (job_.gpus == 1) return scale_alone(shift);
  return scale_.shared() * std::exp(shift.of(Source::compute) * scale_.error());
}

double StepModel::settled_clock(const Shift& shift, double scale) const {
  return clock_settled(machine_, shift.of(Source::clock), job_.gpus > 1, [&](double clock) {
    return simulate(shift, {clock, scale}, nullptr);
  });
}

StepModel::Settled StepModel::settled(const Shift& shift) const {
  constexpr double kAlike = 1e-3;
  Settled found;
  Walk& walk = found.walk;
  walk.scale = scale_of(shift);
  walk.clock = settled_clock(shift, walk.scale);
  found.step = simulate(shift, walk, nullptr);
  const double most = scale_alone(shift);
  if (job_.gpus == 1 || !(walk.scale < most * (1 - kAlike))) return found;
  const auto alone = [&](double clock) { return simulate(shift, {clock, most, false}, nullptr); };
  // At its own clock: waiting for others is what lets theirs rise, and at that clock the bound
  // would fall the longer they wait.
  const double least =
      alone(clock_settled(machine_, shift.of(Source::clock), true, alone)).total().value();
  // Close to proportional where compute is the bound, and nothing is to do elsewhere.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds && found.step.total().value() < least; ++round) {
    walk.scale = std::min(most, walk.scale * (least / found.step.total().value()));
    found.step = simulate(shift, walk, nullptr);
  }
  return found;
}

Step StepModel::run(const Shift& shift) const { return settled(shift).step; }

Timeline StepModel::timeline(const Shift& shift) const {
  Timeline timeline;
  simulate(shift, settled(shift).walk, &timeline);
  return timeline;
}

}  // namespace ddpx
