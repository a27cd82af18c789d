// Whole steps that were timed on one GPU, beside what the model says the device alone would take:
// what fit_compute works with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/fit.hpp"
#include "model/network.hpp"
#include "model/step.hpp"

namespace ddpx {

struct SampleSummary {
  double median = 0;
  double relative_error = 0;  // standard error of the median, with a floor
  double deviation = 0;       // standard deviation of one value, as a fraction of the median
};

// Median and its standard error from the median absolute deviation; one value alone gets the floor.
[[nodiscard]] SampleSummary summarise(std::span<const double> seconds, double floor);

// Whole steps move by 1 % and more between processes.
inline constexpr double kStepFloor = 0.01;

struct TimedStep {
  const StepSample* sample;
  Network network;
  SampleSummary time;
  double flops = 0;
  double seconds_per_flop = 0;  // of the products, everything else taken out
  bool device_bound = false;
};

// The network a step was measured on. Throws InputError that names the file.
[[nodiscard]] Network network_of(const StepSample& sample, const std::string& place);

// Steps of one GPU measured at those clocks, the most work first.
[[nodiscard]] std::vector<TimedStep> timed_steps(const Measurements& measurements,
                                                 const FitOptions& options, Clocks clocks);

// A step without host costs: what the device alone would take.
[[nodiscard]] Step device_step(const Machine& machine, const StepSample& sample,
                               const Network& network);

[[nodiscard]] double compute_seconds(const Step& step);

// "one-GPU step mlp:width=64 batch 8 fp32".
[[nodiscard]] std::string describe(const StepSample& sample);

}  // namespace ddpx
