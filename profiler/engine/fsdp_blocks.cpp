#include "profiler/engine/fsdp_blocks.hpp"

#include <algorithm>

namespace ddpx::engine {
namespace {

// Shards are multiples of 16 bytes, which NCCL and kernels move at once.
constexpr int kFloatsAtOnce = 4;

}  // namespace

FsdpBlocks::FsdpBlocks(Device& device, const Layout& layout, bool reshard)
    : device_(device),
      reshard_(reshard),
      share_(1.0F / static_cast<float>(device.ranks())),
      issued_(device.create_event()),
      arrived_{device.create_event(), device.create_event()},
      summed_(device.create_event()) {
  const auto ranks = static_cast<std::size_t>(device.ranks());
  std::size_t shards = 0;
  std::size_t largest = 0;
  for (const LinearLayer& layer : layout.layers()) {
    const std::size_t whole = padded(layer.all().elements, kFloatsAtOnce * device.ranks());
    blocks_.push_back({layer.all(), {shards, whole / ranks}});
    shards += whole / ranks;
    largest = std::max(largest, whole);
  }
  shards_ = device.allocate(shards, DType::fp32);
  gradient_shards_ = device.allocate(shards, DType::fp32);
  parameters_ = device.allocate(reshard ? largest : layout.parameters(), DType::fp32);
  gradients_ = device.allocate(largest, DType::fp32);
  for (Buffer& buffer : gathered_) buffer = device.allocate(largest, DType::fp32);
  scattering_ = device.allocate(largest, DType::fp32);
  scattered_ = device.allocate(largest / ranks, DType::fp32);
}

Slice FsdpBlocks::gathered(std::size_t block) const {
  return gathered_.at(block % 2).part(
      0, blocks_[block].shard.elements * static_cast<std::size_t>(device_.ranks()));
}

Slice FsdpBlocks::parameters_of(std::size_t block) const {
  const Tensor& tensors = blocks_[block].tensors;
  return parameters_.part(reshard_ ? 0 : tensors.begin, tensors.elements);
}

Weights FsdpBlocks::of_layer(std::size_t layer) {
  return {parameters_of(layer), gradients_.part(0, blocks_[layer].tensors.elements)};
}

void FsdpBlocks::gather(std::size_t block, Trace* trace) {
  device_.record(Stream::compute, issued_);
  device_.wait(Stream::communication, issued_);
  const Tensor& shard = blocks_[block].shard;
  spanned(trace, Stream::communication, "all-gather", block, [&] {
    device_.collective(Collective::all_gather, shards_.part(shard.begin, shard.elements),
                       gathered(block));
  });
  device_.record(Stream::communication, arrived_.at(block % 2));
}

void FsdpBlocks::await(std::size_t number, Event event, Trace* trace) {
  spanned(trace, Stream::compute, kWaitSpan, number, [&] { device_.wait(Stream::compute, event); });
}

void FsdpBlocks::copy_out(std::size_t block, Trace* trace) {
  spanned(trace, Stream::compute, "copy-out", block, [&] {
    device_.copy(gathered(block).part(0, blocks_[block].tensors.elements), parameters_of(block));
  });
}

void FsdpBlocks::before_forward(const Turn& turn) { gather(0, turn.trace); }

void FsdpBlocks::before_forward_of(std::size_t layer, const Turn& turn) {
  await(layer, arrived_.at(layer % 2), turn.trace);
  // Its place was read by the copy of the block before, which this stream has done.
  if (layer + 1 < blocks_.size()) gather(layer + 1, turn.trace);
  copy_out(layer, turn.trace);
}

void FsdpBlocks::before_backward_of(std::size_t layer, const Turn& turn) {
  if (!reshard_) return;
  if (layer + 1 == blocks_.size()) gather(layer, turn.trace);
  await(layer, arrived_.at(layer % 2), turn.trace);
  copy_out(layer, turn.trace);
  if (layer > 0) gather(layer - 1, turn.trace);
}

void FsdpBlocks::after_backward_of(std::size_t layer, const Turn& turn) {
  collect(turn);
  const Block& block = blocks_[layer];
  spanned(turn.trace, Stream::compute, "copy-in", layer, [&] {
    device_.copy_scaled(gradients_.part(0, block.tensors.elements), share_,
                        scattering_.part(0, block.tensors.elements));
  });
  device_.record(Stream::compute, issued_);
  device_.wait(Stream::communication, issued_);
  const Slice to = turn.first ? gradient_shards_.part(block.shard.begin, block.shard.elements)
                              : scattered_.part(0, block.shard.elements);
  spanned(turn.trace, Stream::communication, "reduce-scatter", layer, [&] {
    device_.collective(
        Collective::reduce_scatter,
        scattering_.part(0, block.shard.elements * static_cast<std::size_t>(device_.ranks())), to);
  });
  device_.record(Stream::communication, summed_);
  in_flight_ = layer;
}

// Waits for the reduce-scatter under way, and adds what it brought to earlier micro-batches'.
void FsdpBlocks::collect(const Turn& turn) {
  if (!in_flight_) return;
  await(*in_flight_, summed_, turn.trace);
  const Tensor& shard = blocks_[*in_flight_].shard;
  if (!turn.first)
    device_.add(scattered_.part(0, shard.elements),
                gradient_shards_.part(shard.begin, shard.elements));
  in_flight_.reset();
}

void FsdpBlocks::after_backward(const Turn& turn) { collect(turn); }

void FsdpBlocks::load(std::size_t begin, std::span<const float> values) {
  const auto rank = static_cast<std::size_t>(device_.rank());
  for (const Block& block : blocks_) {
    // What of the values lies in this rank's shard of the block, in the flat order.
    const std::size_t shard_begin = block.tensors.begin + rank * block.shard.elements;
    const std::size_t shard_end =
        std::min(shard_begin + block.shard.elements, block.tensors.begin + block.tensors.elements);
    const std::size_t from = std::max(begin, shard_begin);
    const std::size_t to = std::min(begin + values.size(), shard_end);
    if (from >= to) continue;
    device_.upload(values.subspan(from - begin, to - from),
                   shards_.part(block.shard.begin + from - shard_begin, to - from));
  }
}

std::vector<float> FsdpBlocks::parameters() {
  std::size_t all = 0;
  for (const Block& block : blocks_) all += block.tensors.elements;
  std::vector<float> flat(all);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Tensor& tensors = blocks_[i].tensors;
    gather(i, nullptr);
    await(i, arrived_.at(i % 2), nullptr);
    device_.download(gathered(i).part(0, tensors.elements),
                     std::span(flat).subspan(tensors.begin, tensors.elements));
  }
  return flat;
}

}  // namespace ddpx::engine
