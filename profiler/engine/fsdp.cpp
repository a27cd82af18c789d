#include "profiler/engine/fsdp.hpp"

namespace ddpx::engine {

FsdpUnit::FsdpUnit(Device& device, Weights weights)
    : device_(device),
      weights_(weights),
      share_(1.0F / static_cast<float>(device.ranks())),
      staging_(device.allocate(weights.parameters.elements, DType::fp32)),
      issued_(device.create_event()),
      arrived_(device.create_event()) {
  const std::size_t shard = weights.parameters.elements / static_cast<std::size_t>(device.ranks());
  shard_ = device.allocate(shard, DType::fp32);
  gradient_shard_ = device.allocate(shard, DType::fp32);
  scattered_ = device.allocate(shard, DType::fp32);
}

void FsdpUnit::collective_in_turn(Collective kind, Slice from, Slice to, Trace* trace) {
  device_.record(Stream::compute, issued_);
  device_.wait(Stream::communication, issued_);
  spanned(trace, Stream::communication,
          kind == Collective::all_gather ? "all-gather" : "reduce-scatter", 0,
          [&] { device_.collective(kind, from, to); });
  device_.record(Stream::communication, arrived_);
  spanned(trace, Stream::compute, kWaitSpan, 0, [&] { device_.wait(Stream::compute, arrived_); });
}

void FsdpUnit::before_forward(Trace* trace) {
  collective_in_turn(Collective::all_gather, shard_.all(), staging_.all(), trace);
  spanned(trace, Stream::compute, "copy-out", 0,
          [&] { device_.copy(staging_.all(), weights_.parameters); });
}

void FsdpUnit::after_backward(bool first, bool /*last*/, Trace* trace) {
  spanned(trace, Stream::compute, "copy-in", 0,
          [&] { device_.copy_scaled(weights_.gradients, share_, staging_.all()); });
  const Slice to = first ? gradient_shard_.all() : scattered_.all();
  collective_in_turn(Collective::reduce_scatter, staging_.all(), to, trace);
  if (!first) device_.add(scattered_.all(), gradient_shard_.all());
}

Weights FsdpUnit::to_update() const { return {shard_.all(), gradient_shard_.all()}; }

void FsdpUnit::scatter_parameters() {
  const std::size_t shard = shard_.all().elements;
  device_.copy(weights_.parameters.part(static_cast<std::size_t>(device_.rank()) * shard, shard),
               shard_.all());
}

}  // namespace ddpx::engine
