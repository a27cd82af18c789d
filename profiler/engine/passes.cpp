#include "profiler/engine/passes.hpp"

#include <algorithm>

namespace ddpx::engine {
namespace {

struct Linear {
  Slice bias;
  Slice weight;
};

Linear parts(const LinearLayer& layer, Slice all) {
  return {all.part(0, layer.bias.elements), all.part(layer.bias.elements, layer.weight.elements)};
}

// tf32 is how products read fp32.
DType stored(DType dtype) { return dtype == DType::tf32 ? DType::fp32 : dtype; }

}  // namespace

Passes::Passes(Device& device, const Layout& layout, DType dtype, std::size_t rows,
               int micro_batches)
    : device_(device),
      layout_(layout),
      dtype_(dtype),
      activation_(stored(dtype)),
      rows_(rows),
      weight_(1.0F / (static_cast<float>(rows) * static_cast<float>(micro_batches))) {
  std::size_t largest = 0;
  for (const LinearLayer& layer : layout.layers()) {
    largest = std::max(largest, layer.all().elements);
    outputs_.push_back(device.allocate(rows * layer.out, activation_));
  }
  for (Buffer& buffer : output_gradients_)
    buffer = device.allocate(rows * layout.widest(), activation_);
  loss_ = device.allocate(1, DType::fp32);
  if (micro_batches > 1) fresh_ = device.allocate(largest, DType::fp32);
  if (!casts()) return;
  cast_inputs_ = device.allocate(rows * layout.inputs(), activation_);
  cast_parameters_ = device.allocate(layout.parameters(), activation_);
  cast_gradients_ = device.allocate(largest, activation_);
}

void Passes::begin(const MicroBatch& batch) {
  batch_ = batch;
  if (casts()) device_.cast(batch.inputs, cast_inputs_.all());
}

Slice Passes::input_of(std::size_t layer) const {
  if (layer > 0) return outputs_[layer - 1].all();
  return casts() ? cast_inputs_.all() : batch_.inputs;
}

Slice Passes::gradient_of_output(std::size_t layer) const {
  return output_gradients_[layer % 2].part(0, rows_ * layout_.layers()[layer].out);
}

Product Passes::product_of(const LinearLayer& layer, Pass pass) const {
  return {.pass = pass,
          .dtype = dtype_,
          .rows = static_cast<double>(rows_),
          .in = static_cast<double>(layer.in),
          .out = static_cast<double>(layer.out)};
}

void Passes::forward(std::size_t i, Slice parameters) {
  const LinearLayer& layer = layout_.layers()[i];
  if (casts()) {
    const Slice kept = cast_parameters_.part(layer.all().begin, parameters.elements);
    device_.cast(parameters, kept);
    parameters = kept;
  }
  const Linear used = parts(layer, parameters);
  device_.product(product_of(layer, Pass::forward), input_of(i), used.weight, outputs_[i].all());
  device_.add_bias(outputs_[i].all(), used.bias, layer.relu);
}

void Passes::loss(bool fresh) {
  const std::size_t last = outputs_.size() - 1;
  device_.cross_entropy(outputs_[last].all(), batch_.labels, weight_, fresh, loss_.all(),
                        gradient_of_output(last));
}

void Passes::backward(std::size_t i, const Weights& weights, bool adds) {
  const LinearLayer& layer = layout_.layers()[i];
  const Slice output_gradient = gradient_of_output(i);
  const Slice full = adds ? fresh_.part(0, weights.gradients.elements) : weights.gradients;
  const Slice made = casts() ? cast_gradients_.part(0, full.elements) : full;
  const Slice parameters =
      casts() ? cast_parameters_.part(layer.all().begin, made.elements) : weights.parameters;
  if (layer.relu) device_.relu_backward(output_gradient, outputs_[i].all());
  device_.bias_gradient(output_gradient, parts(layer, made).bias);
  if (layer.needs_data_gradient) {
    device_.product(product_of(layer, Pass::data_gradient), output_gradient,
                    parts(layer, parameters).weight, gradient_of_output(i - 1));
  }
  device_.product(product_of(layer, Pass::weight_gradient), output_gradient, input_of(i),
                  parts(layer, made).weight);
  if (casts()) device_.cast(made, full);
  if (!adds) return;
  device_.add(parts(layer, full).bias, parts(layer, weights.gradients).bias);
  device_.add(parts(layer, full).weight, parts(layer, weights.gradients).weight);
}

double Passes::last_loss() const {
  float value = 0;
  device_.download(loss_.all(), {&value, 1});
  return static_cast<double>(value);
}

}  // namespace ddpx::engine
