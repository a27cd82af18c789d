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
  double seconds = 0;
  double kernels = captured.kernels;
  for (const Layer& layer : network_.layers) {
    seconds += layer.forward_seconds_per_sample + layer.backward_seconds_per_sample;
    kernels -= static_cast<double>(layer.forward_launches.size() + layer.backward_launches.size());
  }
  if (seconds > 0) given_rate_ = std::max(0.0, kernels) / seconds;
}

bool StepModel::python_hook() const {
  return job_.strategy.compression && job_.engine == Engine::torch && job_.gpus > 1 &&
         machine_.device.multiprocessors > 0;
}

// A stated time is the device's, measured at some batch: it scales with the samples, and so do the
// blocks of the kernels it is made of.
void StepModel::add_given_times(const Layer& layer, double samples, Shape& shape) const {
  const auto add = [&](double per_sample, std::span<const KernelLaunch> launches, int kernels,
                       Way& way) {
    way.given = given_rate_ * per_sample;
    add_launches(launches, samples, kernels > 0, per_sample * samples, way);
  };
  add(layer.forward_seconds_per_sample, layer.forward_launches, layer.forward_kernels,
      shape.forward);
  add(layer.backward_seconds_per_sample, layer.backward_launches, layer.backward_kernels,
      shape.backward);
}

// What is left of `seconds` waits for memory; without launches all of it is a product of unknown
// grid. `counted`: the layer counts its kernels, with their whole gaps, the launches among them.
void StepModel::add_launches(std::span<const KernelLaunch> launches, double samples, bool counted,
                             double seconds, Way& way) const {
  if (launches.empty()) {
    way.products.back().seconds += seconds;
    return;
  }
  const double growth = network_.captured ? samples / network_.captured->batch : 1.0;
  for (const KernelLaunch& kernel : launches) {
    Work work;
    work.seconds = kernel.seconds_per_sample * samples;
    work.kernels = counted ? 0 : 1;
    work.shared = shared_kernel({std::ceil(kernel.blocks * (kernel.persistent ? 1.0 : growth)),
                                 static_cast<double>(resident_blocks(
                                     kernel.threads, kernel.registers_per_thread,
                                     kernel.shared_bytes, machine_.device.compute_capability)),
                                 kernel.persistent},
                                WaveCost{});
    seconds -= work.seconds;
    way.products.push_back(work);
  }
  way.memory = std::max(0.0, seconds);
}

namespace {

// A host's own work moves by so much between fresh processes.
constexpr double kCapturedHostError = 0.05;

// A sum of costs whose errors are independent.
class Sum {
 public:
  void add(double times, double seconds, double relative_error) {
    seconds_ += times * seconds;
    squares_ += std::pow(times * seconds * relative_error, 2);
  }
  void add(double times, const Estimate<Seconds>& cost) {
    add(times, cost.value.value(), cost.relative_error);
  }
  void add(double times, const std::optional<Estimate<Seconds>>& cost) {
    if (cost) add(times, *cost);
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] double error() const { return seconds_ > 0 ? std::sqrt(squares_) / seconds_ : 0; }

 private:
  double seconds_ = 0;
  double squares_ = 0;
};

}  // namespace

StepModel::HostTime StepModel::host_time() const {
  const auto host_time_of = [](const Sum& sum, const HostCosts* costs) -> HostTime {
    return {sum.seconds(), std::hypot(sum.error(), costs != nullptr ? costs->spread : 0)};
  };
  // One launch for all of the step: some microseconds.
  if (job_.graphs) return {};
  const HostCosts* costs = machine_.host_costs(job_.engine);
  const double k = job_.strategy.micro_batches;
  const double tensors = static_cast<double>(tensors_);
  const bool adamw = job_.optimizer == Optimizer::adamw;
  Sum sum;
  if (network_.captured && network_.captured->host_time.value() > 0) {
    sum.add(k, network_.captured->host_time.value(), kCapturedHostError);
    sum.add(1, network_.captured->host_optimizer_time.value(), kCapturedHostError);
  } else if (costs != nullptr && !network_.captured) {
    sum.add(k * tensors, costs->step_per_tensor);
    sum.add(k, costs->step);
    sum.add(k - 1, costs->extra_micro_batch);
    if (adamw) sum.add(tensors, costs->adamw_per_tensor);
    if (is_half(job_.dtype)) sum.add(k * tensors, costs->autocast_per_tensor);
  }
  if (costs == nullptr || sum.seconds() == 0 || job_.gpus == 1 || !job_.strategy.sync)
    return host_time_of(sum, costs);
  const double times = job_.strategy.synchronisations();
  if (job_.strategy.by_block()) {
    double launches = 0;
    for (const Exchange& exchange : collectives_) launches += exchange.per_step;
    const double of_one_unit = 2.0 * times;
    sum.add(times, costs->fsdp_block ? *costs->fsdp_block : costs->fsdp);
    sum.add(std::max(0.0, launches - of_one_unit),
            costs->fsdp_launch ? *costs->fsdp_launch : costs->per_bucket);
    sum.add(times * tensors, costs->fsdp_per_tensor);
    if (adamw) sum.add(tensors, costs->fsdp_adamw_per_tensor);
  } else if (!job_.strategy.bucketed()) {
    sum.add(times, costs->fsdp);
  } else {
    const double buckets = static_cast<double>(buckets_.size());
    sum.add(times, costs->sync);
    sum.add(times * tensors, costs->sync_per_tensor);
    sum.add(times * buckets, costs->per_bucket);
    if (job_.strategy.compression) {
      sum.add(times, costs->hook);
      sum.add(times * buckets, costs->hook_per_bucket);
    }
    if (job_.strategy.sharding != Sharding::none) sum.add(1, costs->per_bucket);
  }
  return host_time_of(sum, costs);
}

}  // namespace ddpx
