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

// The network whose one-GPU step on `machine` is the measured one: the optimizer's share
// (optimizer_traffic over the machine's bandwidth) is taken out, the rest is compute in proportion
// to the samples. Its tensors are few enough that launching them does not take longer than the step
// that was measured. Throws InputError where the optimizer alone takes as long; `place` is the flag
// the step was given by.
[[nodiscard]] Network measured_network(const Machine& machine, const Job& job,
                                       const MeasuredModel& model,
                                       std::string_view place = "--step-time");

}  // namespace ddpx
