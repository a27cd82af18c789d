// How ranks share gradients, and where a rank keeps its weights: the part of a step that differs
// between strategies. The trainer calls these hooks at fixed points of every micro-batch;
// everything is issued, nothing waits on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/strategy.hpp"
#include "profiler/engine/layout.hpp"
#include "profiler/engine/trace.hpp"

namespace ddpx::engine {

// In Layout's order; a flat buffer may end in padding.
struct Weights {
  Slice parameters;
  Slice gradients;
};

// A micro-batch's place in its step.
struct Turn {
  bool first = false;
  bool last = false;
  Trace* trace = nullptr;  // of the last micro-batch
};

class Sharing {
 public:
  Sharing() = default;
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;
  virtual ~Sharing() = default;

  // A layer's whole bias and weight, and where their gradients go: between the hooks of its
  // forward, and of its backward.
  [[nodiscard]] virtual Weights of_layer(std::size_t layer) = 0;
  // What the optimizer updates in this rank, and with what.
  [[nodiscard]] virtual Weights to_update() const = 0;

  // Parameters [begin, begin + values.size()) of the flat order, of which the rank keeps what it
  // has to; and all of them (collective).
  virtual void load(std::size_t begin, std::span<const float> values) = 0;
  [[nodiscard]] virtual std::vector<float> parameters() = 0;

  // Every gradient of the micro-batch starts at zero: what has been accumulated so far is
  // elsewhere.
  [[nodiscard]] virtual bool starts_afresh() const { return false; }
  // Whether compute stops between layers: their forwards are then spans of their own in a trace.
  [[nodiscard]] virtual bool by_layer() const { return false; }
  virtual void before_forward(const Turn& /*turn*/) {}
  virtual void before_forward_of(std::size_t /*layer*/, const Turn& /*turn*/) {}
  virtual void before_backward_of(std::size_t /*layer*/, const Turn& /*turn*/) {}
  // The layer's gradients are complete in this rank.
  virtual void after_backward_of(std::size_t /*layer*/, const Turn& /*turn*/) {}
  virtual void after_backward(const Turn& /*turn*/) {}
};

// Every rank keeps all parameters in one flat buffer; no gradient is shared. One rank, or
// synchronisation switched off.
class Replicated : public Sharing {
 public:
  // `padding` elements after the last parameter.
  Replicated(Device& device, const Layout& layout, std::size_t padding = 0);

  [[nodiscard]] Weights of_layer(std::size_t layer) override;
  [[nodiscard]] Weights to_update() const override { return weights(); }
  void load(std::size_t begin, std::span<const float> values) override;
  [[nodiscard]] std::vector<float> parameters() override;

 protected:
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Weights weights() const { return {parameters_.all(), gradients_.all()}; }

 private:
  Device& device_;
  const Layout& layout_;
  Buffer parameters_;
  Buffer gradients_;
};

// The strategy's own, for `device.ranks()` ranks. Keeps references to device and layout.
[[nodiscard]] std::unique_ptr<Sharing> make_sharing(Device& device, const Layout& layout,
                                                    const Strategy& strategy);

// `elements` and padding, so that they divide into equal shards.
[[nodiscard]] std::size_t padded(std::size_t elements, int ranks);

}  // namespace ddpx::engine
