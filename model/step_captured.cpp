// What a captured network brings along instead of prices, and what the host takes: see step.hpp.
#include <algorithm>
#include <cmath>

#include "model/contention.hpp"
#include "model/error.hpp"
#include "model/step.hpp"

namespace ddpx {

void StepModel::check_captured() {
  if (!network_.captured) return;
  const Captured& captured = *network_.captured;
  if (captured.dtype != job_.dtype) {
    throw InputError("network " + network_.name,
                     "was captured in " + std::string(name(captured.dtype)) + ", not " +
                         std::string(name(job_.dtype)) + "; give --dtype " +
                         std::string(name(captured.dtype)) + " or capture it again");
  }
  extrapolated_ = extrapolated_ || captured.batch != job_.samples_per_micro_batch();
}

// A stated time is the device's, measured at some batch: it scales with the samples, and so do the
// blocks of the kernels it is made of.
void StepModel::add_given_times(const Layer& layer, double samples, Shape& shape) const {
  shape.forward.seconds += layer.forward_seconds_per_sample * samples;
  double rest = layer.backward_seconds_per_sample * samples;
  const double growth = network_.captured ? samples / network_.captured->batch : 1.0;
  for (const KernelLaunch& kernel : layer.backward_launches) {
    Work work;
    work.seconds = kernel.seconds_per_sample * samples;
    work.kernels = 1;
    work.grid = {std::ceil(kernel.blocks * (kernel.persistent ? 1.0 : growth)),
                 static_cast<double>(resident_blocks(kernel.threads, kernel.registers_per_thread,
                                                     kernel.shared_bytes,
                                                     machine_.device.compute_capability)),
                 kernel.persistent};
    rest -= work.seconds;
    shape.backward.push_back(work);
  }
  if (layer.backward_launches.empty()) {
    shape.backward[1].seconds += rest;
  } else {
    shape.backward_memory = std::max(0.0, rest);
  }
}

double StepModel::host_seconds() const {
  // One launch for all of the step: some microseconds.
  if (job_.graphs) return 0;
  const HostCosts* costs = machine_.host_costs(job_.engine);
  const int k = job_.strategy.micro_batches;
  const double tensors = static_cast<double>(tensors_);
  double seconds = 0;
  if (network_.captured && network_.captured->host_time.value() > 0) {
    seconds =
        k * network_.captured->host_time.value() + network_.captured->host_optimizer_time.value();
  } else if (costs != nullptr && !network_.captured) {
    seconds = k * tensors * costs->step_per_tensor.value.value() +
              (k - 1) * costs->extra_micro_batch.value.value();
  }
  if (costs == nullptr || seconds == 0 || job_.gpus == 1 || !job_.strategy.sync) return seconds;
  const double times = job_.strategy.synchronisations();
  const double launch = costs->per_bucket.value.value();
  if (!job_.strategy.bucketed()) {
    double launches = 0;
    for (const Exchange& exchange : collectives_) launches += exchange.per_step;
    const double of_one_unit = 2.0 * times;
    const double further = costs->fsdp_launch ? costs->fsdp_launch->value.value() : launch;
    return seconds + times * costs->fsdp.value.value() +
           std::max(0.0, launches - of_one_unit) * further;
  }
  const double buckets = static_cast<double>(buckets_.size());
  seconds += times * (tensors * costs->sync_per_tensor.value.value() + buckets * launch);
  if (job_.strategy.compression) seconds += times * buckets * costs->hook_per_bucket.value.value();
  if (job_.strategy.sharding != Sharding::none) seconds += launch;
  return seconds;
}

}  // namespace ddpx
