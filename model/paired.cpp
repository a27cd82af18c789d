#include "model/paired.hpp"

#include <cmath>

#include "model/spread.hpp"

namespace ddpx {

ShiftedSteps shifted_steps(const StepModel& model) {
  ShiftedSteps steps;
  steps.step = model.run();
  steps.usual = steps.step.total().value();
  for (std::size_t s = 0; s < kSources; ++s) {
    steps.moved[s] = {steps.usual, steps.usual};
    if (!model.depends_on(static_cast<Source>(s))) continue;
    for (const std::size_t side : {0U, 1U}) {
      Shift shift;
      shift.z[s] = side == 0 ? -1.0 : 1.0;
      steps.moved[s][side] = model.run(shift).total().value();
    }
  }
  return steps;
}

Interval step_interval(const ShiftedSteps& steps, double residual) {
  Spread spread;
  spread.add_error(residual);
  for (const auto& [down, up] : steps.moved)
    spread.add_larger(std::log(down / steps.usual), std::log(up / steps.usual));
  return spread.around(steps.usual);
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
