// The optimizer's update of the weights a rank holds: the whole flat buffer, or with FSDP its
// shard, and then moments of the shard only.
//
// SGD: p -= rate g. AdamW (Loshchilov and Hutter 2019) as torch.optim.AdamW writes it, with
// PyTorch's defaults, for update t = 1, 2, ...:
//   p -= rate decay p                         weight decay, decoupled from the gradient
//   m += (1 - b1)(g - m)                      v = b2 v + (1 - b2) g^2
//   p -= rate m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)
// t is counted in device memory, so that a step recorded once (CUDA graphs) goes on counting.
#pragma once

#include "profiler/engine/sharing.hpp"

namespace ddpx::engine {

// 0.01 for SGD, which trains the networks of this engine for as long as a measurement takes;
// PyTorch's default for AdamW.
[[nodiscard]] float usual_rate(Optimizer optimizer);

class Update {
 public:
  // `elements`: of what is updated in this rank.
  Update(Device& device, Optimizer optimizer, float rate, std::size_t elements);

  void apply(const Weights& weights);

 private:
  Device& device_;
  Optimizer optimizer_;
  float rate_;
  Buffer first_moments_;
  Buffer second_moments_;
  Buffer count_;
};

}  // namespace ddpx::engine
