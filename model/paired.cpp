#include "model/paired.hpp"

#include <algorithm>
#include <cmath>

#include "model/spread.hpp"

namespace ddpx {

double moved_step(const StepModel& model, Source source, Side side, double usual) {
  // Whatever the error: nothing is left of a collective but what bounds it.
  constexpr double kFree = 1e12;
  Shift shift;
  double& z = shift.z[static_cast<std::size_t>(source)];
  z = side == Side::down ? -1.0 : 1.0;
  const double moved = model.run(shift).total().value();
  if (source != Source::link || side == Side::up || moved >= usual) return moved;
  z = -kFree;
  const double free = std::min(usual, model.run(shift).total().value());
  return std::max(moved, usual * std::exp(std::log(free / usual) / kNormalQuantile90));
}

Interval within_wires(Interval time, Seconds least_exchange) {
  time.low = std::max(time.low, std::min(time.value, least_exchange.value()));
  return time;
}

ShiftedSteps shifted_steps(const StepModel& model) {
  ShiftedSteps steps;
  steps.step = model.run();
  steps.usual = steps.step.total().value();
  steps.least_exchange = model.least_exchange();
  for (std::size_t s = 0; s < kSources; ++s) {
    steps.moved[s] = {steps.usual, steps.usual};
    if (!model.depends_on(static_cast<Source>(s))) continue;
    for (const Side side : {Side::down, Side::up}) {
      steps.moved[s][static_cast<std::size_t>(side)] =
          moved_step(model, static_cast<Source>(s), side, steps.usual);
    }
  }
  return steps;
}

Interval step_interval(const ShiftedSteps& steps, double residual) {
  Spread spread;
  spread.add_error(residual);
  for (const auto& [down, up] : steps.moved)
    spread.add_larger(std::log(down / steps.usual), std::log(up / steps.usual));
  return within_wires(spread.around(steps.usual), steps.least_exchange);
}

Interval limited_by_loader(Interval time, const Step& step, const Job& job) {
  if (!job.loader) return time;
  const double fed = job.samples_per_step() / job.loader->rate(job.gpus);
  time.low = std::max(time.low, std::min(fed, time.value));
  const Seconds wait = step.term(Term::loader);
  if (wait.value() > 0) {
    const double device = (step.total() - wait).value();
    time.high = std::max(time.value, device * (time.high / time.value));
  }
  return time;
}

Interval paired_speedup(const ShiftedSteps& steps, const ShiftedSteps& reference,
                        double samples_ratio, double residual) {
  Spread spread;
  spread.add_error(residual);
  const double ratio = reference.usual / steps.usual;
  for (std::size_t s = 0; s < kSources; ++s) {
    const auto change = [&](std::size_t side) {
      return std::log(reference.moved[s][side] / steps.moved[s][side] / ratio);
    };
    spread.add_larger(change(0), change(1));
  }
  return spread.around(ratio * samples_ratio);
}

}  // namespace ddpx
