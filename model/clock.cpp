#include "model/clock.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

// Power of a chip against its clock: P ~ f V^2 with a voltage that rises with the clock, so about
// the third power.
constexpr double kPowerExponent = 3;

}  // namespace

double clock_factor(const Machine& machine, double busy, double z, bool hot) {
  double factor = 1.0;
  if (machine.boost) {
    const double full = std::clamp(machine.boost->shifted(z), 0.05, 1.0);
    factor = std::max(full, std::pow(busy, 1.0 / kPowerExponent));
  }
  if (machine.sustained && hot) factor *= machine.sustained->shifted(z);
  return factor;
}

}  // namespace ddpx
