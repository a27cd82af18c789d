// A model that is known only by its size and by one timed step on one GPU.
#pragma once

#include <string_view>

#include "model/machine.hpp"
#include "model/strategy.hpp"

namespace ddpx {

struct MeasuredModel {
  double parameters = 0;
  Seconds step{};    // on one GPU, plain training step
  double batch = 1;  // samples of that step
};

// What links and parameters do not explain of a model that nothing else is known of: samples of
// unequal work, loaders, hosts. A step waits for its slowest rank, and public series of 1 to 4
// samples per GPU lose several times what those of 100 do: a spread per sample, whose mean over a
// rank's batch settles. Both spreads were set on the series whose link their sources do not state
// (docs/results/links.md judges the others); `kStepResidual` widens the interval to what such
// series differ by.
inline constexpr double kStepRankSpread = 0.02;
inline constexpr double kStepSampleSpread = 0.30;
inline constexpr double kStepResidual = 0.08;
// What sharing takes the framework (FrameworkCost): the same in fp32 and fp16, in steps of 20 ms
// and of 400. docs/results/links.md chooses it on every other source than the one it judges.
inline constexpr Seconds kStepFramework{2e-3};
inline constexpr double kStepFrameworkError = 0.7;  // it is 1 to 10 ms, by framework and network
// No public series has a step below 13 ms to say what becomes of it there.
inline constexpr double kStepFrameworkMost = 0.20;

// `machine` for a model known by its step alone: at least those spreads and residual, and what the
// framework takes.
[[nodiscard]] Machine for_known_step(Machine machine, Seconds framework = kStepFramework);

// A stated time is priced in whatever dtype the machine has products of: there are none to price.
void use_any_dtype(Job& job, const Machine& machine);

// The network whose one-GPU step on `machine` is the measured one: the optimizer's share
// (optimizer_traffic over the machine's bandwidth) is taken out, the rest is compute in proportion
// to the samples. Its tensors are few enough that launching them does not take longer than the step
// that was measured. Throws InputError where the optimizer alone takes as long; `place` is the flag
// the step was given by, `remedy` what to give there in its place.
[[nodiscard]] Network measured_network(const Machine& machine, const Job& job,
                                       const MeasuredModel& model,
                                       std::string_view place = "--step-time",
                                       std::string_view remedy = "the time of a whole step");

}  // namespace ddpx
