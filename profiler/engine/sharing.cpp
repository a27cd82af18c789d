#include "profiler/engine/sharing.hpp"

#include "profiler/engine/buckets.hpp"
#include "profiler/engine/fsdp.hpp"

namespace ddpx::engine {
namespace {

bool is_shared(const Strategy& strategy, int ranks) { return ranks > 1 && strategy.sync; }

}  // namespace

std::unique_ptr<Sharing> make_sharing(Device& device, const Layout& layout,
                                      const Strategy& strategy, Weights weights) {
  if (!is_shared(strategy, device.ranks())) return std::make_unique<Independent>(weights);
  if (strategy.sharding == Sharding::fsdp_unit) return std::make_unique<FsdpUnit>(device, weights);
  return std::make_unique<BucketedAllReduce>(device, layout, strategy, weights);
}

std::size_t padded_parameters(const Layout& layout, const Strategy& strategy, int ranks) {
  const std::size_t parameters = layout.parameters();
  if (!is_shared(strategy, ranks) || strategy.sharding != Sharding::fsdp_unit) return parameters;
  const auto shards = static_cast<std::size_t>(ranks);
  return (parameters + shards - 1) / shards * shards;
}

}  // namespace ddpx::engine
