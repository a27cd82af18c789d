// What the engine asks of hardware: memory, the kernels of a training step, collectives on a stream
// of their own, and events between the two streams. The step's logic (step.hpp) is written once
// against this interface; a device adds no order of its own.
//
// The two streams have CUDA's meaning. Work on one stream runs in the order it was issued; nothing
// orders the streams against each other but record() and wait(). A device may run work at once (a
// CPU core) or later (a GPU): the caller must not be able to tell, except by time. Kernels run on
// the compute stream, collectives on the communication stream.
//
// Matrices are row-major and dense. Failures throw DeviceError.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "model/operation.hpp"
#include "model/timeline.hpp"
#include "profiler/backend.hpp"
#include "profiler/engine/adamw.hpp"

namespace ddpx::engine {

// Elements in device memory; owns nothing. Labels are fp32 whole numbers.
struct Slice {
  std::byte* data = nullptr;
  std::size_t elements = 0;
  DType dtype = DType::fp32;

  [[nodiscard]] std::size_t bytes() const {
    return elements * static_cast<std::size_t>(element_bytes(dtype));
  }
  [[nodiscard]] Slice part(std::size_t begin, std::size_t count) const {
    return {data + begin * static_cast<std::size_t>(element_bytes(dtype)), count, dtype};
  }
};

// Device memory, released by whoever allocated it.
class Buffer {
 public:
  using Release = std::function<void(std::byte*)>;

  Buffer() = default;
  Buffer(std::byte* data, std::size_t elements, DType dtype, Release release)
      : memory_(data, std::move(release)), elements_(elements), dtype_(dtype) {}

  [[nodiscard]] Slice all() const { return {memory_.get(), elements_, dtype_}; }
  [[nodiscard]] Slice part(std::size_t begin, std::size_t count) const {
    return all().part(begin, count);
  }

 private:
  std::unique_ptr<std::byte, Release> memory_{nullptr, [](std::byte*) {}};
  std::size_t elements_ = 0;
  DType dtype_ = DType::fp32;
};

// A point in a stream's work; recorded anew, it forgets the point before. Belongs to the device
// that created it.
struct Event {
  std::size_t index = 0;
};

// What AdamW keeps between updates, zero before the first.
struct Moments {
  Slice first;
  Slice second;
  Slice count;  // kAdamWCountElements
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual Hardware hardware() const = 0;
  // Whether products of this dtype can be run.
  [[nodiscard]] virtual bool supports(DType dtype) const = 0;

  // Zeroed.
  [[nodiscard]] virtual Buffer allocate(std::size_t elements, DType dtype) = 0;
  // Between fp32 slices and the host, after everything issued so far; return when done.
  virtual void upload(std::span<const float> from, Slice to) = 0;
  virtual void download(Slice from, std::span<float> to) = 0;

  // One linear layer, x rows x in, weight out x in, y rows x out:
  //   forward          y  = x weight^T      a = x,  b = weight, c = y
  //   data gradient    dx = dy weight       a = dy, b = weight, c = dx
  //   weight gradient  dw = dy^T x          a = dy, b = x,      c = dw
  virtual void product(const Product& work, Slice a, Slice b, Slice c) = 0;

  // Every row of `rows` plus the bias; then, with relu, max(., 0).
  virtual void add_bias(Slice rows, Slice bias, bool relu) = 0;
  // gradient = 0 where the activation, after ReLU, is 0.
  virtual void relu_backward(Slice gradient, Slice activation) = 0;
  // bias_gradient = sum of the rows of `gradient`.
  virtual void bias_gradient(Slice gradient, Slice bias_gradient) = 0;
  // Softmax cross-entropy of `logits` (a row per label), each row weighted by `weight`: adds to
  // loss[0], or with `fresh` sets it, and writes the gradient of the logits.
  virtual void cross_entropy(Slice logits, Slice labels, float weight, bool fresh, Slice loss,
                             Slice gradient) = 0;
  virtual void copy(Slice from, Slice to) = 0;
  // to = factor * from, one pass.
  virtual void copy_scaled(Slice from, float factor, Slice to) = 0;
  // values *= factor, rounded to their dtype.
  virtual void scale(Slice values, float factor) = 0;
  // to += from
  virtual void add(Slice from, Slice to) = 0;
  // Between fp32 and fp16 or bf16, rounding to nearest even.
  virtual void cast(Slice from, Slice to) = 0;
  // parameters -= rate * gradients
  virtual void sgd(Slice parameters, Slice gradients, float rate) = 0;
  // One AdamW update in one pass, all fp32; update.hpp has the formula. Counts it in state.count.
  virtual void adamw(Slice parameters, Slice gradients, const Moments& state,
                     const AdamW& rule) = 0;

  // Sums over ranks. All-reduce is in place (from and to are the same); all-gather's `from` and
  // reduce-scatter's `to` are this rank's shard, 1/ranks of the other side. Issued in the same
  // order on all ranks.
  virtual void collective(Collective kind, Slice from, Slice to) = 0;

  // `work`, which has run before and ends with the streams joined, as one call that issues all of
  // it again at the host's cost of one launch. Keeps what `work` refers to. nullopt: this device
  // has no such thing.
  [[nodiscard]] virtual std::optional<std::function<void()>> recorded(
      const std::function<void()>& work) = 0;

  [[nodiscard]] virtual Event create_event() = 0;
  // `stream` is Stream::compute or Stream::communication.
  virtual void record(Stream stream, Event event) = 0;
  // What is issued to `stream` from now on runs after the point recorded last in `event`.
  virtual void wait(Stream stream, Event event) = 0;
  // Returns when both streams have run dry.
  virtual void synchronize() = 0;
  // Between two recorded events that have been reached.
  [[nodiscard]] virtual Seconds elapsed(Event from, Event to) = 0;
  // Share of `step`, the usual time of what `work` issues, in which the device works: from its
  // records of one more run, or 1 where host and device are one. nullopt: nobody can tell.
  [[nodiscard]] virtual std::optional<double> busy_share(Seconds step,
                                                         const std::function<void()>& work) = 0;

  // Usual idle time between two kernels of the compute stream in what `work` issues, with the host
  // far enough ahead of the device; from its records. nullopt: nobody can tell, or it has none.
  [[nodiscard]] virtual std::optional<Seconds> gap(const std::function<void()>& work) = 0;

  // Among the hosts of all ranks, outside the streams.
  virtual void barrier() = 0;
  // Element by element the largest over ranks.
  virtual void maximum(std::span<double> values) = 0;
};

}  // namespace ddpx::engine
