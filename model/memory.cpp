#include "model/memory.hpp"

#include <algorithm>

#include "model/blocks.hpp"
#include "model/step.hpp"

namespace ddpx {
namespace {

// Parameters that are whole at once, and gradients before they are scattered.
Bytes gathered(const Network& network, const Job& job) {
  const StateBytes bytes = state_bytes(job.optimizer);
  if (!job.strategy.by_block())
    return Bytes((bytes.parameter + bytes.gradient) * network.parameters());
  const Blocks blocks = blocks_of(network);
  const double of_blocks = network.parameters() - blocks.root_parameters;
  const double ahead = std::min(2 * blocks.largest(), of_blocks);
  const double whole = blocks.root_parameters + (job.strategy.reshard ? ahead : of_blocks);
  const double gradients = std::max(blocks.root_parameters, blocks.largest());
  return Bytes(bytes.parameter * whole + bytes.gradient * gradients);
}

}  // namespace

StateBytes state_bytes(Optimizer optimizer) {
  return {kGradientBytes, kGradientBytes, optimizer == Optimizer::adamw ? 2 * kGradientBytes : 0};
}

Bytes model_state(const StateBytes& bytes, double parameters, Sharding sharding, int shards) {
  const double n = shards;
  switch (sharding) {
    case Sharding::none:
      break;
    case Sharding::zero1:
      return Bytes((bytes.parameter + bytes.gradient + bytes.optimizer / n) * parameters);
    case Sharding::zero2:
      return Bytes((bytes.parameter + (bytes.gradient + bytes.optimizer) / n) * parameters);
    case Sharding::fsdp_unit:
    case Sharding::fsdp_block:
    case Sharding::zero3:
      return Bytes((bytes.parameter + bytes.gradient + bytes.optimizer) / n * parameters);
  }
  return Bytes((bytes.parameter + bytes.gradient + bytes.optimizer) * parameters);
}

MemoryParts memory_parts(const Network& network, const Job& job) {
  const Strategy& strategy = job.strategy;
  const bool shared = job.gpus > 1 && strategy.sync;
  const Sharding sharding = shared ? strategy.sharding : Sharding::none;
  const double parameters = network.parameters();
  MemoryParts parts;
  parts.state = model_state(state_bytes(job.optimizer), parameters, sharding,
                            shared ? strategy.shards(job.gpus) : 1);
  const Bytes all(kGradientBytes * parameters);
  if (sharding == Sharding::zero2) {
    // Gradients wait in a bucket until it is reduced.
    parts.buckets = std::min(all, strategy.bucket_limits().rest);
  } else if (shared && strategy.bucketed() && !strategy.bucket_view) {
    parts.buckets = all;
  }
  if (shared && !strategy.bucketed()) parts.gathered = gathered(network, job);
  parts.activations = Bytes(network.activation_bytes * job.samples_per_micro_batch() *
                            element_bytes(job.dtype) / kGradientBytes);
  return parts;
}

Bytes memory_needed(const Network& network, const Job& job) {
  return memory_parts(network, job).total();
}

}  // namespace ddpx
