#include "calibration/timed_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/error.hpp"
#include "model/network_spec.hpp"

namespace ddpx {
Network network_of(const StepSample& sample, const std::string& place) {
  // network_from() speaks of the command line; here the text stands in a file.
  try {
    return network_from(sample.network);
  } catch (const InputError& error) {
    std::string_view what = error.what();
    constexpr std::string_view kFlag = "--network: ";
    if (what.starts_with(kFlag)) what.remove_prefix(kFlag.size());
    throw InputError(place + ": steps, network", what);
  }
}

SampleSummary summarise(std::span<const double> seconds, double floor) {
  if (seconds.empty()) throw InputError("measurements", "a sample has no times");
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  const auto middle = [](const std::vector<double>& v) {
    const std::size_t n = v.size();
    return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
  };
  const double median = middle(sorted);
  std::vector<double> deviations;
  for (double s : sorted) deviations.push_back(std::abs(s - median));
  std::sort(deviations.begin(), deviations.end());
  // 1.4826 MAD estimates a normal's standard deviation; the median's standard error is sqrt(pi/2)
  // times the mean's.
  const double deviation = 1.4826 * middle(deviations);
  const double error = 1.2533 * deviation / std::sqrt(static_cast<double>(sorted.size()));
  return {median, std::max(floor, error / median), deviation / median};
}

Step device_step(const Machine& machine, const StepSample& sample, const Network& network) {
  Job job;
  job.gpus = 1;
  job.batch_per_rank = sample.batch;
  job.dtype = sample.dtype;
  job.optimizer = sample.optimizer;
  job.engine = sample.engine;
  job.strategy.micro_batches = sample.micro_batches;
  Machine device = machine;
  device.host = {};
  device.sustained.reset();
  // Its parts alone, whatever whole steps say beyond them.
  const ProductTable products(device, job.dtype);
  const Link none;
  return StepModel(device, products, none, network, job, WorkScale{}).run();
}

double compute_seconds(const Step& step) {
  return (step.term(Term::forward) + step.term(Term::backward)).value();
}

std::string describe(const StepSample& sample) {
  return "one-GPU step " + sample.network + " batch " +
         std::to_string(static_cast<long long>(sample.batch)) +
         (sample.micro_batches > 1 ? " x" + std::to_string(sample.micro_batches) : "") + " " +
         std::string(name(sample.dtype)) + (sample.clocks == Clocks::sustained ? " sustained" : "");
}

std::vector<TimedStep> timed_steps(const Measurements& measurements, const FitOptions& options,
                                   Clocks clocks) {
  std::vector<TimedStep> steps;
  for (const StepSample& sample : measurements.steps) {
    if (sample.clocks != clocks || sample.gpus > 1) continue;
    Network network = network_of(sample, options.place);
    const double flops =
        network.training_flops_per_sample().value() * sample.batch * sample.micro_batches;
    steps.push_back({&sample, std::move(network), summarise(sample.seconds, kStepFloor), flops});
  }
  std::sort(steps.begin(), steps.end(),
            [](const TimedStep& a, const TimedStep& b) { return a.flops > b.flops; });
  return steps;
}

}  // namespace ddpx
