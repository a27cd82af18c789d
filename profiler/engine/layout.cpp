#include "profiler/engine/layout.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/error.hpp"
#include "model/step.hpp"

namespace ddpx::engine {
namespace {

[[noreturn]] void refuse(const Network& network, const std::string& problem) {
  throw InputError("network " + network.name,
                   problem + "; the native engine trains multilayer perceptrons, mlp:width=...");
}

bool is_whole(double value) { return value >= 1 && value == std::floor(value); }

LinearLayer linear_of(const Network& network, const Layer& layer) {
  if (layer.products.size() != 1) refuse(network, "layer " + layer.name + " is no linear layer");
  const LayerProduct& product = layer.products.front();
  if (product.rows_per_sample != 1 || product.count != 1 || !is_whole(product.in) ||
      !is_whole(product.out))
    refuse(network, "layer " + layer.name + " is no linear layer of one row per sample");
  if (layer.tensors != std::vector<double>{product.out, product.in * product.out})
    refuse(network, "layer " + layer.name + " does not have a bias and a weight");
  LinearLayer linear;
  linear.in = static_cast<std::size_t>(product.in);
  linear.out = static_cast<std::size_t>(product.out);
  linear.needs_data_gradient = layer.needs_data_gradient;
  return linear;
}

}  // namespace

Layout::Layout(const Network& network) {
  if (network.layers.empty()) refuse(network, "it has no layers");
  for (const Layer& layer : network.layers) {
    layers_.push_back(linear_of(network, layer));
    if (layers_.size() > 1 && layers_[layers_.size() - 2].out != layers_.back().in)
      refuse(network, "layer " + layer.name + " does not take what the layer before it gives");
  }
  for (LinearLayer& layer : layers_) {
    layer.relu = &layer != &layers_.back();
    if (&layer != &layers_.front() && !layer.needs_data_gradient)
      refuse(network, "only the first layer can do without a data gradient");
  }
  layers_.front().needs_data_gradient = false;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    LinearLayer& layer = layers_[i];
    layer.bias_arrival = arrival_.size();
    layer.bias = {parameters_, layer.out};
    layer.weight = {parameters_ + layer.out, layer.in * layer.out};
    parameters_ += layer.bias.elements + layer.weight.elements;
    arrival_.push_back(layer.bias);
    arrival_.push_back(layer.weight);
  }
}

std::size_t Layout::widest() const {
  std::size_t widest = 0;
  for (const LinearLayer& layer : layers_) widest = std::max({widest, layer.in, layer.out});
  return widest;
}

std::vector<Bucket> Layout::buckets(BucketLimits limits) const {
  std::vector<Bytes> sizes;
  for (const Tensor& tensor : arrival_)
    sizes.emplace_back(kGradientBytes * static_cast<double>(tensor.elements));
  std::vector<Bucket> buckets;
  assign_buckets(sizes, limits, buckets);
  return buckets;
}

std::vector<float> Layout::to_flat(std::span<const float> forward_order) const {
  if (forward_order.size() != parameters_)
    throw InputError("parameters", std::to_string(forward_order.size()) +
                                       " values given; the network has " +
                                       std::to_string(parameters_));
  std::vector<float> flat(parameters_);
  std::size_t from = 0;
  for (const LinearLayer& layer : layers_) {
    for (const Tensor& tensor : {layer.weight, layer.bias}) {
      std::copy_n(forward_order.begin() + static_cast<std::ptrdiff_t>(from), tensor.elements,
                  flat.begin() + static_cast<std::ptrdiff_t>(tensor.begin));
      from += tensor.elements;
    }
  }
  return flat;
}

std::vector<float> Layout::to_forward_order(std::span<const float> flat) const {
  std::vector<float> values;
  values.reserve(parameters_);
  for (const LinearLayer& layer : layers_) {
    for (const Tensor& tensor : {layer.weight, layer.bias}) {
      const auto part = flat.subspan(tensor.begin, tensor.elements);
      values.insert(values.end(), part.begin(), part.end());
    }
  }
  return values;
}

}  // namespace ddpx::engine
