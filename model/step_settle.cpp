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
  double factor = 1.0;
  // Only power (boost) makes the clock depend on how busy the step is.
  if (!machine_.boost)
    return clock_factor(machine_, factor, Seconds(1), shift.of(Source::clock), job_.gpus > 1);
  // The clock decides the busy share and the share the clock; two rounds settle it to a few parts
  // in a thousand.
  for (int round = 0; round < 2; ++round) {
    const Step step = simulate(shift, {factor, scale}, nullptr);
    factor = clock_factor(machine_, busy_share(step), step.total(), shift.of(Source::clock),
                          job_.gpus > 1);
  }
  return factor;
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
  const Walk alone{walk.clock, most, false};
  const double least = simulate(shift, alone, nullptr).total().value();
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
