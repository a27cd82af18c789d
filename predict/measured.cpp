#include "predict/measured.hpp"

#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "predict/text.hpp"

namespace ddpx {

Machine for_known_step(Machine machine, Seconds framework) {
  machine.rank_spread = std::max(machine.rank_spread, kStepRankSpread);
  machine.sample_spread = std::max(machine.sample_spread, kStepSampleSpread);
  machine.residual = std::max(machine.residual, kStepResidual);
  machine.framework = FrameworkCost{
      {framework, kStepFrameworkError, "prior: public series of training"}, kStepFrameworkMost};
  return machine;
}

void use_any_dtype(Job& job, const Machine& machine) {
  if (!machine.products.empty()) job.dtype = machine.products.front().product.dtype;
}

Network measured_network(const Machine& machine, const Job& job, const MeasuredModel& model,
                         std::string_view place, std::string_view remedy) {
  const Seconds optimizer = optimizer_traffic(job.optimizer, model.parameters) /
                                machine.update_bandwidth(job.optimizer).value +
                            machine.kernel_gap.value;
  if (!(model.step > optimizer)) {
    throw InputError(
        place, time_text(model.step) + " is no longer than the optimizer's update of " +
                   amount_text(model.parameters) + " parameters alone takes on " + machine.name +
                   " (" + time_text(optimizer) + "); give " + std::string(remedy) +
                   ", the right --params, or your own --machine");
  }
  // A step alone on a GPU never waits: it ran at the sustained clock, which the model applies
  // again.
  const double hot = machine.sustained ? machine.sustained->value : 1.0;
  OpaqueShape shape;
  shape.parameters = model.parameters;
  shape.compute_per_sample = (model.step - optimizer) / (hot * model.batch);
  if (const HostCosts* host = machine.host_costs(job.engine);
      host != nullptr && host->step_per_tensor.value.value() > 0) {
    const double most = std::floor(model.step / host->step_per_tensor.value);
    shape.tensors = static_cast<int>(std::clamp(most, 1.0, static_cast<double>(shape.tensors)));
  }
  return opaque(shape);
}

}  // namespace ddpx
