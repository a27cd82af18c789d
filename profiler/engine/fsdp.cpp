#include "profiler/engine/fsdp.hpp"

namespace ddpx::engine {

FsdpUnit::FsdpUnit(Device& device, const Layout& layout)
    : Replicated(device, layout, padded(layout.parameters(), device.ranks()) - layout.parameters()),
      share_(1.0F / static_cast<float>(device.ranks())),
      staging_(device.allocate(weights().parameters.elements, DType::fp32)),
      issued_(device.create_event()),
      arrived_(device.create_event()) {
  const std::size_t shard = staging_.all().elements / static_cast<std::size_t>(device.ranks());
  shard_ = device.allocate(shard, DType::fp32);
  gradient_shard_ = device.allocate(shard, DType::fp32);
  scattered_ = device.allocate(shard, DType::fp32);
}

void FsdpUnit::collective_in_turn(Collective kind, Slice from, Slice to, Trace* trace) {
  device().record(Stream::compute, issued_);
  device().wait(Stream::communication, issued_);
  spanned(trace, Stream::communication,
          kind == Collective::all_gather ? "all-gather" : "reduce-scatter", 0,
          [&] { device().collective(kind, from, to); });
  device().record(Stream::communication, arrived_);
  spanned(trace, Stream::compute, kWaitSpan, 0, [&] { device().wait(Stream::compute, arrived_); });
}

void FsdpUnit::before_forward(const Turn& turn) {
  collective_in_turn(Collective::all_gather, shard_.all(), staging_.all(), turn.trace);
  spanned(turn.trace, Stream::compute, "copy-out", 0,
          [&] { device().copy(staging_.all(), weights().parameters); });
}

void FsdpUnit::after_backward(const Turn& turn) {
  spanned(turn.trace, Stream::compute, "copy-in", 0,
          [&] { device().copy_scaled(weights().gradients, share_, staging_.all()); });
  const Slice to = turn.first ? gradient_shard_.all() : scattered_.all();
  collective_in_turn(Collective::reduce_scatter, staging_.all(), to, turn.trace);
  if (!turn.first) device().add(scattered_.all(), gradient_shard_.all());
}

Weights FsdpUnit::to_update() const { return {shard_.all(), gradient_shard_.all()}; }

void FsdpUnit::load(std::size_t begin, std::span<const float> values) {
  Replicated::load(begin, values);
  const std::size_t shard = shard_.all().elements;
  device().copy(weights().parameters.part(static_cast<std::size_t>(device().rank()) * shard, shard),
                shard_.all());
}

std::vector<float> FsdpUnit::parameters() {
  before_forward({});
  return Replicated::parameters();
}

}  // namespace ddpx::engine
