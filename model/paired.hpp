// Two steps of one machine, network and link compared: what they share cancels.
//
// A forecast's interval is mostly the doubt about constants that every strategy uses: the rate of
// products, the link's bandwidth. The ratio of two strategies moves far less than either, because
// both are moved by the same shift (common random numbers, first order): each source is moved by
// one standard error either way in both steps at once, and the change of the ratio's logarithm
// enters in squares. What remains is a residual of the comparison itself.
#pragma once

#include "model/step.hpp"

namespace ddpx {

// Seconds of the step, `usual` as it is, with one source moved by one standard error, down or up.
// The logarithm of a link's change counts kNormalQuantile90 times in an interval, which then ends
// no further down than where the wires run at their peak, and are free where nobody knows that: an
// error of a factor of eight (PCIe on sixteen GPUs) reaches far beyond either.
enum class Side { down, up };
[[nodiscard]] double moved_step(const StepModel& model, Source source, Side side, double usual);

// `time` of a step without what no wires allow (StepModel::least_exchange).
[[nodiscard]] Interval within_wires(Interval time, Seconds least_exchange);

// Seconds of a step with the constants as they are, and with each source moved down and up.
struct ShiftedSteps {
  Step step;
  double usual = 0;
  std::array<std::array<double, 2>, kSources> moved{};
  Seconds least_exchange{};
};
[[nodiscard]] ShiftedSteps shifted_steps(const StepModel& model);

// 90 % interval of the step; `residual` is one standard error of what no source explains.
[[nodiscard]] Interval step_interval(const ShiftedSteps& steps, double residual);

// The interval of a step that may wait for its data: none ends before its samples have come, at a
// rate that is given, and what the device does meanwhile moves it only where it ends later than
// they. As it is where the job has no loader.
[[nodiscard]] Interval limited_by_loader(Interval step_time, const Step& step, const Job& job);

// 90 % interval of `reference` / `steps` x `samples_ratio`: how much faster samples are processed.
// Without a residual and with equal steps it is a point.
[[nodiscard]] Interval paired_speedup(const ShiftedSteps& steps, const ShiftedSteps& reference,
                                      double samples_ratio, double residual);

}  // namespace ddpx
