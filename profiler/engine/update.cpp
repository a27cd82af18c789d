#include "profiler/engine/update.hpp"

namespace ddpx::engine {

float usual_rate(Optimizer optimizer) { return optimizer == Optimizer::adamw ? 1e-3F : 1e-2F; }

Update::Update(Device& device, Optimizer optimizer, float rate, std::size_t elements)
    : device_(device), optimizer_(optimizer), rate_(rate) {
  if (optimizer != Optimizer::adamw) return;
  first_moments_ = device.allocate(elements, DType::fp32);
  second_moments_ = device.allocate(elements, DType::fp32);
  count_ = device.allocate(kAdamWCountElements, DType::fp32);
}

void Update::apply(const Weights& weights) {
  if (optimizer_ == Optimizer::adamw) {
    device_.adamw(weights.parameters, weights.gradients,
                  {first_moments_.all(), second_moments_.all(), count_.all()},
                  {.rate = double{rate_}});
  } else {
    device_.sgd(weights.parameters, weights.gradients, rate_);
  }
}

}  // namespace ddpx::engine
