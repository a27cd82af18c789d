#include "model/network.hpp"

#include <algorithm>
#include <numeric>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

constexpr double kFloat = 4.0;
constexpr int kOpaqueTensorsPerBlock = 4;

void require(bool ok, const char* place, const char* problem) {
  if (!ok) throw InputError(place, problem);
}

// Linear + bias. Backward: the bias gradient reduces the whole output gradient once.
Layer linear(std::string name, double rows_per_sample, double in, double out) {
  Layer layer;
  layer.name = std::move(name);
  layer.tensors = {out, in * out};
  layer.products = {{rows_per_sample, in, out, 1}};
  layer.backward_bytes = kFloat * rows_per_sample * out;
  layer.backward_kernels = 1;
  return layer;
}

// An activation reads and writes each element forward; backward it reads gradient and output and
// writes.
void add_activation(Layer& layer, double elements) {
  layer.forward_bytes += 2 * kFloat * elements;
  layer.backward_bytes += 3 * kFloat * elements;
  layer.forward_kernels += 1;
  layer.backward_kernels += 1;
}

Layer layer_norm(std::string name, double tokens, double hidden) {
  Layer layer;
  layer.name = std::move(name);
  layer.tensors = {hidden, hidden};
  layer.forward_bytes = 2 * kFloat * tokens * hidden;
  layer.backward_bytes = 4 * kFloat * tokens * hidden;
  layer.forward_kernels = 1;
  layer.backward_kernels = 2;
  return layer;
}

}  // namespace

double Layer::parameters() const { return std::accumulate(tensors.begin(), tensors.end(), 0.0); }

double Network::parameters() const {
  double total = 0;
  for (const Layer& layer : layers) total += layer.parameters();
  return total;
}

double Network::gradient_element_bytes() const {
  return captured ? captured->gradient_element_bytes : kFloat;
}

std::size_t Network::tensor_count() const {
  std::size_t total = 0;
  for (const Layer& layer : layers) total += layer.tensors.size();
  return total;
}

Flops Network::training_flops_per_sample() const {
  Flops total{};
  for (const Layer& layer : layers) {
    for (const LayerProduct& p : layer.products) {
      const double passes = layer.needs_data_gradient ? 3 : 2;
      total += Flops(passes * p.count * 2 * p.rows_per_sample * p.in * p.out);
    }
  }
  return total;
}

Network mlp(const MlpShape& shape) {
  require(shape.width >= 1, "network mlp", "width must be at least 1");
  require(shape.depth >= 1, "network mlp", "depth must be at least 1");
  require(shape.classes >= 1, "network mlp", "classes must be at least 1");
  Network network;
  network.name = "mlp:width=" + shown(shape.width) + ",depth=" + shown(shape.depth);
  if (shape.classes != 64) network.name += ",classes=" + shown(shape.classes);
  network.width = shape.width;
  for (int i = 0; i < shape.depth; ++i) {
    Layer layer = linear("fc" + std::to_string(i), 1, shape.width, shape.width);
    add_activation(layer, shape.width);
    layer.needs_data_gradient = i > 0;
    layer.block = i;
    network.activation_bytes += 2 * kFloat * shape.width;
    network.layers.push_back(std::move(layer));
  }
  Layer head = linear("head", 1, shape.width, shape.classes);
  head.block = shape.depth;                          // all of them are elements of one Sequential
  head.forward_bytes += 4 * kFloat * shape.classes;  // log-softmax and loss
  head.backward_bytes += 4 * kFloat * shape.classes;
  head.forward_kernels += 2;
  head.backward_kernels += 2;
  network.layers.push_back(std::move(head));
  return network;
}

Network gpt(const GptShape& shape) {
  require(shape.layers >= 1, "network gpt", "layers must be at least 1");
  require(shape.hidden >= 1 && shape.heads >= 1 && shape.sequence >= 1 && shape.vocabulary >= 1,
          "network gpt", "hidden, heads, sequence and vocabulary must be at least 1");
  const double h = shape.hidden;
  const double t = shape.sequence;
  const double head = h / shape.heads;
  Network network;
  network.name = "gpt:layers=" + shown(shape.layers) + ",hidden=" + shown(h) +
                 ",heads=" + shown(shape.heads) + ",sequence=" + shown(t) +
                 ",vocabulary=" + shown(shape.vocabulary);
  network.width = h;
  network.layers.reserve(7 * static_cast<std::size_t>(shape.layers) + 3);

  Layer embedding;
  embedding.name = "embedding";
  // The token embedding is shared with the head; DDP reduces a shared tensor once, when its last
  // use in backward is done: here.
  embedding.tensors = {t * h, shape.vocabulary * h};
  embedding.forward_bytes = 3 * kFloat * t * h;
  // The gradient of a lookup is a dense tensor: zero it and add the rows, then the head's part is
  // added.
  embedding.backward_bytes = 3 * kFloat * t * h;
  embedding.forward_kernels = 3;
  embedding.backward_kernels = 3;
  embedding.needs_data_gradient = false;
  network.layers.push_back(embedding);

  for (int i = 0; i < shape.layers; ++i) {
    const std::string block = "h" + std::to_string(i) + ".";
    const std::size_t first = network.layers.size();
    network.layers.push_back(layer_norm(block + "ln1", t, h));
    network.layers.push_back(linear(block + "qkv", t, h, 3 * h));
    Layer attention;
    attention.name = block + "attention";
    attention.products = {{t, head, t, shape.heads}, {t, t, head, shape.heads}};
    // Scale, mask and softmax over t x t scores of every head.
    attention.forward_bytes = 4 * kFloat * shape.heads * t * t;
    attention.backward_bytes = 5 * kFloat * shape.heads * t * t;
    attention.forward_kernels = 4;
    attention.backward_kernels = 4;
    network.layers.push_back(std::move(attention));
    Layer projection = linear(block + "projection", t, h, h);
    add_activation(projection, t * h);  // residual add
    network.layers.push_back(std::move(projection));
    network.layers.push_back(layer_norm(block + "ln2", t, h));
    Layer up = linear(block + "mlp_up", t, h, 4 * h);
    add_activation(up, 4 * t * h);
    network.layers.push_back(std::move(up));
    Layer down = linear(block + "mlp_down", t, 4 * h, h);
    add_activation(down, t * h);
    network.layers.push_back(std::move(down));
    for (std::size_t l = first; l < network.layers.size(); ++l) network.layers[l].block = i;
    network.activation_bytes += kFloat * (16 * t * h + 2 * shape.heads * t * t);
  }
  network.layers.push_back(layer_norm("ln_f", t, h));
  Layer output;
  output.name = "head";
  output.products = {{t, h, shape.vocabulary, 1}};
  output.forward_bytes = 4 * kFloat * t * shape.vocabulary;
  output.backward_bytes = 3 * kFloat * t * shape.vocabulary;
  output.forward_kernels = 3;
  output.backward_kernels = 2;
  network.layers.push_back(std::move(output));
  network.activation_bytes += 2 * kFloat * t * shape.vocabulary;
  return network;
}

Network opaque(const OpaqueShape& shape) {
  require(shape.parameters >= 1, "--params", "the model must have at least 1 parameter");
  require(shape.compute_per_sample.value() > 0, "--step-time",
          "must be longer than the optimizer alone takes");
  Network network;
  network.name = "params=" + shown(shape.parameters);
  const int tensors =
      static_cast<int>(std::clamp(shape.parameters, 1.0, static_cast<double>(shape.tensors)));
  const double share = shape.compute_per_sample.value() / tensors;
  for (int i = 0; i < tensors; ++i) {
    Layer layer;
    layer.name = "part" + std::to_string(i);
    layer.block = i / kOpaqueTensorsPerBlock;
    layer.tensors = {shape.parameters / tensors};
    layer.forward_seconds_per_sample = share / 3.0;
    layer.backward_seconds_per_sample = share * 2.0 / 3.0;
    network.layers.push_back(std::move(layer));
  }
  return network;
}

}  // namespace ddpx
