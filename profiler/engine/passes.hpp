// Forward and backward of the network on one micro-batch: the kernels and what they leave behind,
// wherever the weights are kept.
//
// With 16-bit products it is PyTorch's autocast: weights stay fp32 and are cast before a layer's
// first product of the micro-batch (autocast's cache keeps the cast copy for backward); inputs,
// activations and their gradients are 16 bit, products add in fp32; the loss is computed in fp32
// from 16-bit logits; and gradients of weights are cast back to fp32 as they appear.
#pragma once

#include <cstddef>
#include <vector>

#include "profiler/engine/sharing.hpp"

namespace ddpx::engine {

// Samples of one micro-batch in device memory: inputs (a row each) and the classes they belong to.
struct MicroBatch {
  Slice inputs;
  Slice labels;
};

class Passes {
 public:
  // Keeps references to device and layout. `micro_batches`: of a step.
  Passes(Device& device, const Layout& layout, DType dtype, std::size_t rows, int micro_batches);

  // Layers in order, then the loss; `fresh` forgets the loss of the micro-batch before.
  void begin(const MicroBatch& batch);
  void forward(std::size_t layer, Slice parameters);
  void loss(bool fresh);
  // Layers in reverse order. Gradients are written, or with `adds` added to what is there.
  void backward(std::size_t layer, const Weights& weights, bool adds);

  // Of the last step: mean over this rank's samples.
  [[nodiscard]] double last_loss() const;

 private:
  [[nodiscard]] bool casts() const { return activation_ != DType::fp32; }
  [[nodiscard]] Slice input_of(std::size_t layer) const;
  [[nodiscard]] Slice gradient_of_output(std::size_t layer) const;
  [[nodiscard]] Product product_of(const LinearLayer& layer, Pass pass) const;

  Device& device_;
  const Layout& layout_;
  DType dtype_;
  DType activation_;
  std::size_t rows_;
  float weight_;  // of a sample in the loss
  MicroBatch batch_;
  Buffer cast_inputs_;
  Buffer cast_parameters_;       // flat
  Buffer cast_gradients_;        // of one layer
  Buffer fresh_;                 // of one layer, before it is added
  std::vector<Buffer> outputs_;  // of each layer, after ReLU
  Buffer output_gradients_[2];   // of the layer at hand and of the one before it
  Buffer loss_;
};

}  // namespace ddpx::engine
