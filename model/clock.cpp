#include "model/clock.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

// Power of a chip against its clock: P ~ f V^2 with a voltage that rises with the clock, so about
// the third power.
constexpr double kPowerExponent = 3;

double cube(double x) { return x * x * x; }

}  // namespace

double busy_in_reading(double busy, Seconds step, Seconds window) {
  const double period = step.value();
  const double length = window.value();
  const double work = busy * period;
  const double pause = period - work;
  // A reading holds this many steps and a rest, of which between `least` and `most` is work.
  const double whole = std::floor(length / period);
  const double rest = length - whole * period;
  const double most = std::min(rest, work);
  const double least = std::max(0.0, rest - pause);
  // As the rest slides along the step, the work in it stays at either end for |work - rest| and
  // |pause - rest|, and changes as fast as it slides in between.
  const double square =
      (most * most * std::abs(work - rest) + least * least * std::abs(pause - rest) +
       2.0 / 3.0 * (cube(most) - cube(least))) /
      period;
  const double in_whole = whole * work;
  const double reading_square = in_whole * in_whole + 2 * in_whole * rest * busy + square;
  // A moment of work finds readings as often as they hold work: E[b^2] / E[b].
  return reading_square / (length * length * busy);
}

double clock_factor(const Machine& machine, double busy, Seconds step, double z, bool hot) {
  double factor = 1.0;
  if (machine.boost) {
    const double full = std::clamp(machine.boost->shifted(z), 0.05, 1.0);
    if (machine.power_window) busy = busy_in_reading(busy, step, machine.power_window->shifted(-z));
    factor = std::max(full, std::pow(busy, 1.0 / kPowerExponent));
  }
  if (machine.sustained && hot) factor *= machine.sustained->shifted(z);
  return factor;
}

}  // namespace ddpx
