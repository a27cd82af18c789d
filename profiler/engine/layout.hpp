// Where a network's parameters lie in one flat buffer: in the order their gradients arrive, so that
// a bucket is one contiguous part of it and the optimizer one kernel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/buckets.hpp"
#include "model/network.hpp"

namespace ddpx::engine {

struct Tensor {
  std::size_t begin = 0;
  std::size_t elements = 0;
};

// A linear layer, followed by ReLU except for the last.
struct LinearLayer {
  std::size_t in = 0;
  std::size_t out = 0;
  bool relu = false;
  bool needs_data_gradient = true;
  Tensor bias;
  Tensor weight;                 // out x in
  std::size_t bias_arrival = 0;  // index into the arrival order; the weight's is the next

  // Bias and weight, which lie side by side.
  [[nodiscard]] Tensor all() const { return {bias.begin, bias.elements + weight.elements}; }
};

class Layout {
 public:
  // Throws InputError for a network that is no MLP of linear layers, each feeding the next.
  explicit Layout(const Network& network);

  [[nodiscard]] std::span<const LinearLayer> layers() const { return layers_; }  // forward order
  [[nodiscard]] std::span<const Tensor> arrival() const { return arrival_; }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  [[nodiscard]] std::size_t inputs() const { return layers_.front().in; }
  [[nodiscard]] std::size_t classes() const { return layers_.back().out; }
  [[nodiscard]] std::size_t widest() const;

  // The buckets of DistributedDataParallel's steady state over the arrival order
  // (model/buckets.hpp).
  [[nodiscard]] std::vector<Bucket> buckets(BucketLimits limits) const;

  // Between the flat order and PyTorch's parameters(): layer by layer forward, weight before bias.
  [[nodiscard]] std::vector<float> to_flat(std::span<const float> forward_order) const;
  [[nodiscard]] std::vector<float> to_forward_order(std::span<const float> flat) const;

 private:
  std::vector<LinearLayer> layers_;
  std::vector<Tensor> arrival_;
  std::size_t parameters_ = 0;
};

}  // namespace ddpx::engine
