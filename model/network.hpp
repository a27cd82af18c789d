// A network is the list of its layers in forward order: what each computes for one sample, which
// parameter tensors it owns, and the memory traffic of its elementwise work. Gradients arrive in
// the reverse order of the layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/operation.hpp"

namespace ddpx {

// One matrix product of a layer: `rows_per_sample` rows (tokens), in -> out features. A product
// without parameters (attention scores) has `count` independent instances per sample (heads), each
// with its own two gradient products and no weight gradient to reduce.
struct LayerProduct {
  double rows_per_sample = 1;
  double in = 0;
  double out = 0;
  double count = 1;
};

// A kernel that was recorded while a model was captured: with its launch, its waves beside a
// collective can be counted (contention.hpp).
struct KernelLaunch {
  double seconds_per_sample = 0;
  double blocks = 0;
  int threads = 0;
  int registers_per_thread = 0;
  int shared_bytes = 0;
  bool persistent = false;

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

struct Layer {
  std::string name;
  // Elements of each parameter tensor, in the order their gradients arrive (PyTorch's linear: bias,
  // then weight; seen in traces of DDP steps, where the bias gradient's copy into its bucket comes
  // first).
  std::vector<double> tensors;
  std::vector<LayerProduct> products;
  // Elementwise traffic per sample in bytes at four-byte elements: activations, normalisation,
  // residual adds, loss.
  double forward_bytes = 0;
  double backward_bytes = 0;
  // Kernels besides the products, forward and backward, each of which costs a gap on the device.
  int forward_kernels = 0;
  int backward_kernels = 0;
  // A layer whose input needs no gradient (the first one) has no data-gradient product.
  bool needs_data_gradient = true;
  // Given times of one sample's forward and backward in seconds instead of products to price (a
  // captured or user-stated model).
  double forward_seconds_per_sample = 0;
  double backward_seconds_per_sample = 0;
  // The products among the kernels that a given time is made of; the rest of it waits for memory.
  // Empty: nothing is known of its kernels.
  std::vector<KernelLaunch> forward_launches{};
  std::vector<KernelLaunch> backward_launches{};
  // The block it is part of, where the generator knows it; blocks.hpp has the rest.
  std::optional<int> block{};

  [[nodiscard]] double parameters() const;
};

// What only measuring a whole model gives (ddpx_torch's capture): it holds for the step it was
// taken from.
struct Captured {
  double batch = 0;  // samples of one micro-batch
  DType dtype = DType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Seconds optimizer_time{};
  // What the framework's own work takes per micro-batch (forward and backward) and per optimizer
  // step, where it runs beside the device. Zero: it is part of the layers' times.
  Seconds host_time{};
  Seconds host_optimizer_time{};
  // Bytes of each broadcast before a synchronised forward: DistributedDataParallel sends rank 0's
  // buffers, those of one type together.
  std::vector<double> broadcast_bytes{};
  double gradient_element_bytes = 4;
  // Launched by one micro-batch's forward and backward; 0: not counted.
  double kernels = 0;
  std::string device{};  // whose times these are; empty: not said
};

struct Network {
  std::string name;  // how the user wrote it: "mlp:width=4096,depth=8"
  std::vector<Layer> layers;
  double width = 0;  // the size a sweep varies; 0 where there is none
  // Activation bytes kept per sample for backward, four-byte elements (memory per GPU, not time).
  double activation_bytes = 0;
  std::optional<Captured> captured{};

  [[nodiscard]] double parameters() const;
  // Bytes of one gradient element.
  [[nodiscard]] double gradient_element_bytes() const;
  [[nodiscard]] std::size_t tensor_count() const;
  // Floating-point operations of one sample's forward and backward, by the same rule as the
  // timeline.
  [[nodiscard]] Flops training_flops_per_sample() const;
};

// `depth` x (Linear(width, width) + ReLU), then Linear(width, classes), cross-entropy. The two-T4
// study's model is depth 8, classes 64.
struct MlpShape {
  double width = 1024;
  int depth = 8;
  double classes = 64;
};
[[nodiscard]] Network mlp(const MlpShape& shape);

// A GPT-2 style decoder: per block attention (qkv, scores, values, projection), MLP of 4 x hidden,
// two LayerNorms; learned position embeddings; the output head shares the token embedding's weight.
struct GptShape {
  int layers = 12;
  double hidden = 768;
  double heads = 12;
  double sequence = 1024;
  double vocabulary = 50257;
};
[[nodiscard]] Network gpt(const GptShape& shape);

// A model known only by its size and its measured one-GPU step: `parameters` in tensors of equal
// size, the step's time spread evenly, a third of the compute forward (2 of 6 flops per parameter
// and sample), `optimizer` excluded by the caller. Its blocks are a guess: four tensors each, so 25
// of them.
struct OpaqueShape {
  double parameters = 0;
  Seconds compute_per_sample{};
  int tensors = 100;
};
[[nodiscard]] Network opaque(const OpaqueShape& shape);

}  // namespace ddpx
