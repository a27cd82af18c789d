#include "profiler/engine/sharing.hpp"

#include "profiler/engine/buckets.hpp"
#include "profiler/engine/fsdp.hpp"
#include "profiler/engine/fsdp_blocks.hpp"

namespace ddpx::engine {

Replicated::Replicated(Device& device, const Layout& layout, std::size_t padding)
    : device_(device),
      layout_(layout),
      parameters_(device.allocate(layout.parameters() + padding, DType::fp32)),
      gradients_(device.allocate(layout.parameters() + padding, DType::fp32)) {}

Weights Replicated::of_layer(std::size_t layer) {
  const Tensor all = layout_.layers()[layer].all();
  return {parameters_.part(all.begin, all.elements), gradients_.part(all.begin, all.elements)};
}

void Replicated::load(std::size_t begin, std::span<const float> values) {
  device_.upload(values, parameters_.part(begin, values.size()));
}

std::vector<float> Replicated::parameters() {
  std::vector<float> flat(layout_.parameters());
  device_.download(parameters_.part(0, flat.size()), flat);
  return flat;
}

std::unique_ptr<Sharing> make_sharing(Device& device, const Layout& layout,
                                      const Strategy& strategy) {
  if (device.ranks() == 1 || !strategy.sync) return std::make_unique<Replicated>(device, layout);
  if (strategy.sharding == Sharding::fsdp_unit) return std::make_unique<FsdpUnit>(device, layout);
  if (strategy.sharding == Sharding::fsdp_block)
    return std::make_unique<FsdpBlocks>(device, layout, strategy.reshard);
  return std::make_unique<BucketedAllReduce>(device, layout, strategy);
}

std::size_t padded(std::size_t elements, int ranks) {
  const auto shards = static_cast<std::size_t>(ranks);
  return (elements + shards - 1) / shards * shards;
}

}  // namespace ddpx::engine
