#include "model/memory.hpp"

#include "model/step.hpp"

namespace ddpx {

Bytes memory_needed(const Network& network, const Job& job) {
  const double gradient = kGradientBytes * network.parameters();
  const bool shared = job.gpus > 1 && job.strategy.sync;
  const bool sharded = shared && job.strategy.sharding == Sharding::fsdp_unit;
  const double moments = job.optimizer == Optimizer::adamw ? 2 * gradient : 0;
  const double share = sharded ? 1.0 / job.gpus : 1.0;
  double bytes = gradient + share * (gradient + moments);
  if (sharded) bytes += gradient;  // the whole gradient exists before it is scattered
  if (shared && !sharded && !job.strategy.bucket_view) bytes += gradient;
  const double activations = network.activation_bytes * job.samples_per_micro_batch();
  return Bytes(bytes + activations * element_bytes(job.dtype) / kGradientBytes);
}

}  // namespace ddpx
