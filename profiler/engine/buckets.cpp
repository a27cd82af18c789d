#include "profiler/engine/buckets.hpp"

namespace ddpx::engine {

BucketedAllReduce::BucketedAllReduce(Device& device, const Layout& layout, const Strategy& strategy)
    : Replicated(device, layout),
      view_(strategy.bucket_view),
      compressed_(strategy.compression.has_value()),
      share_(1.0F / static_cast<float>(device.ranks())),
      memory_(device.allocate(layout.parameters(), DType::fp32)) {
  if (compressed_) half_memory_ = device.allocate(layout.parameters(), *strategy.compression);
  for (const Bucket& bucket : layout.buckets(strategy.buckets)) {
    Part part;
    part.first_tensor = bucket.begin;
    part.last_tensor = bucket.end - 1;
    const Tensor& first = layout.arrival()[part.first_tensor];
    const Tensor& last = layout.arrival()[part.last_tensor];
    const std::size_t elements = last.begin + last.elements - first.begin;
    part.full = memory_.part(first.begin, elements);
    if (compressed_) part.half = half_memory_.part(first.begin, elements);
    part.ready = device.create_event();
    part.summed = device.create_event();
    parts_.push_back(part);
  }
}

void BucketedAllReduce::after_backward_of(std::size_t layer, const Turn& turn) {
  if (!turn.last) return;
  const std::size_t bias = layout().layers()[layer].bias_arrival;
  arrived(bias, turn.trace);
  arrived(bias + 1, turn.trace);
}

void BucketedAllReduce::arrived(std::size_t arrival, Trace* trace) {
  const Tensor& tensor = layout().arrival()[arrival];
  const Slice gradient = weights().gradients.part(tensor.begin, tensor.elements);
  const Slice place = memory_.part(tensor.begin, tensor.elements);
  spanned(trace, Stream::compute, "copy-in", arrival, [&] {
    if (compressed_) {
      device().copy(gradient, place);
    } else {
      device().copy_scaled(gradient, share_, place);
    }
  });
  // Tensors arrive in the order of the buckets, so the open bucket is the one to complete.
  if (arrival == parts_[next_].last_tensor) launch(next_++, trace);
}

void BucketedAllReduce::launch(std::size_t bucket, Trace* trace) {
  const Part& part = parts_[bucket];
  if (compressed_) {
    spanned(trace, Stream::compute, "compress", bucket, [&] {
      device().cast(part.full, part.half);
      device().scale(part.half, share_);
    });
  }
  device().record(Stream::compute, part.ready);
  device().wait(Stream::communication, part.ready);
  const Slice sent = compressed_ ? part.half : part.full;
  spanned(trace, Stream::communication, "all-reduce", bucket,
          [&] { device().collective(Collective::all_reduce, sent, sent); });
  device().record(Stream::communication, part.summed);
}

void BucketedAllReduce::after_backward(const Turn& turn) {
  if (!turn.last) return;
  Trace* trace = turn.trace;
  for (std::size_t bucket = 0; bucket < parts_.size(); ++bucket) {
    const Part& part = parts_[bucket];
    spanned(trace, Stream::compute, kWaitSpan, bucket,
            [&] { device().wait(Stream::compute, part.summed); });
    if (compressed_) {
      spanned(trace, Stream::compute, "decompress", bucket,
              [&] { device().cast(part.half, part.full); });
    }
    if (!view_) spanned(trace, Stream::compute, "copy-out", bucket, [&] { copy_out(part); });
  }
  next_ = 0;
}

void BucketedAllReduce::copy_out(const Part& part) {
  for (std::size_t t = part.first_tensor; t <= part.last_tensor; ++t) {
    const Tensor& tensor = layout().arrival()[t];
    device().copy(memory_.part(tensor.begin, tensor.elements),
                  weights().gradients.part(tensor.begin, tensor.elements));
  }
}

Weights BucketedAllReduce::to_update() const {
  return {weights().parameters, view_ ? memory_.all() : weights().gradients};
}

}  // namespace ddpx::engine
