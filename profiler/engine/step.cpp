#include "profiler/engine/step.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/error.hpp"
#include "profiler/engine/data.hpp"

namespace ddpx::engine {
namespace {

std::size_t rows_of(const Job& job) {
  const double rows = job.samples_per_micro_batch();
  if (rows >= 1 && rows == std::floor(rows)) return static_cast<std::size_t>(rows);
  throw InputError("--batch", "a rank gets " + std::to_string(rows) +
                                  " samples; give a batch that divides into whole samples");
}

std::string formats_of(const Device& device) {
  std::string text;
  for (const DType dtype : {DType::fp32, DType::tf32, DType::bf16}) {
    if (device.supports(dtype)) text += (text.empty() ? "" : " or ") + std::string(name(dtype));
  }
  return text;
}

[[noreturn]] void refuse_dtype(DType dtype, const Device& device) {
  const std::string word(name(dtype));
  if (dtype == DType::fp16)
    throw InputError("--dtype",
                     "the native engine does not train in fp16, which needs its loss "
                     "scaled; " +
                         device.hardware().device.name + " trains in " + formats_of(device));
  throw InputError("--dtype", device.hardware().device.name + " has no " + word +
                                  " products (a GPU of compute capability 8.0 or more has); give " +
                                  formats_of(device));
}

const Job& checked(const Job& job, const Device& device) {
  check(job);
  if (job.gpus != device.ranks()) {
    throw InputError("--gpus", std::to_string(job.gpus) + " ranks asked for, " +
                                   std::to_string(device.ranks()) + " running; start as many");
  }
  if (!device.supports(job.dtype)) refuse_dtype(job.dtype, device);
  const Strategy& strategy = job.strategy;
  const bool known = strategy.sharding == Sharding::none ||
                     strategy.sharding == Sharding::fsdp_unit ||
                     (strategy.sharding == Sharding::fsdp_block && !strategy.hybrid);
  if (!known || strategy.sync_every || !strategy.overlap || strategy.cycle.value() > 0) {
    throw InputError("--strategy", "the native engine does not run '" + describe(strategy) +
                                       "'; it runs ddp with buckets, hooks and accumulation, "
                                       "fsdp=unit, fsdp=block (reshard=yes|no) and no-sync");
  }
  return job;
}

}  // namespace

Trainer::Trainer(Device& device, const Network& network, const Job& job, float learning_rate)
    : device_(device),
      layout_(network),
      job_(checked(job, device)),
      rows_(rows_of(job)),
      sharing_(make_sharing(device, layout_, job.strategy)),
      passes_(device, layout_, job.dtype, rows_, job.strategy.micro_batches),
      update_(device, job.optimizer, learning_rate, sharing_->to_update().parameters.elements) {}

void Trainer::set_parameters(std::span<const float> forward_order) {
  sharing_->load(0, layout_.to_flat(forward_order));
  device_.synchronize();
}

void Trainer::initialise(std::uint64_t seed, Pulse& pulse) {
  std::size_t first = 0;  // in PyTorch's order
  std::vector<float> values;
  for (const LinearLayer& layer : layout_.layers()) {
    for (const Tensor& tensor : {layer.weight, layer.bias}) {
      values.resize(tensor.elements);
      initial_values(layer, seed, first, values);
      sharing_->load(tensor.begin, values);
      first += tensor.elements;
      pulse.tick();
    }
  }
  device_.synchronize();
}

std::vector<float> Trainer::parameters() {
  return layout_.to_forward_order(sharing_->parameters());
}

std::vector<float> Trainer::gradients() {
  const Slice seen = sharing_->to_update().gradients;
  std::vector<float> flat(std::min(seen.elements, layout_.parameters()));
  device_.download(seen.part(0, flat.size()), flat);
  return layout_.to_forward_order(flat);
}

void Trainer::step(std::span<const MicroBatch> micro_batches, Trace* trace) {
  if (trace != nullptr) trace->begin_step();
  const std::size_t last = micro_batches.size() - 1;
  if (last > 0) {
    spanned(trace, Stream::compute, "earlier micro-batches", last, [&] {
      for (std::size_t i = 0; i < last; ++i)
        run(micro_batches[i], {.first = i == 0, .last = false, .trace = nullptr});
    });
  }
  run(micro_batches[last], {.first = last == 0, .last = true, .trace = trace});
  spanned(trace, Stream::compute, "optimizer", 0, [&] { update_.apply(sharing_->to_update()); });
}

void Trainer::run(const MicroBatch& batch, const Turn& turn) {
  const std::size_t layers = layout_.layers().size();
  Trace* by_layer = sharing_->by_layer() ? turn.trace : nullptr;
  sharing_->before_forward(turn);
  spanned(by_layer == nullptr ? turn.trace : nullptr, Stream::compute, "forward", 0, [&] {
    passes_.begin(batch);
    for (std::size_t i = 0; i < layers; ++i) {
      sharing_->before_forward_of(i, turn);
      spanned(by_layer, Stream::compute, "forward", i,
              [&] { passes_.forward(i, sharing_->of_layer(i).parameters); });
    }
    passes_.loss(turn.first);
  });
  const bool adds = !turn.first && !sharing_->starts_afresh();
  for (std::size_t i = layers; i-- > 0;) {
    sharing_->before_backward_of(i, turn);
    spanned(turn.trace, Stream::compute, "backward", i,
            [&] { passes_.backward(i, sharing_->of_layer(i), adds); });
    sharing_->after_backward_of(i, turn);
  }
  sharing_->after_backward(turn);
}

}  // namespace ddpx::engine
