#include "io/network_json.hpp"

#include "io/captured_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

constexpr double kMostParameters = 1e15;
constexpr int kMostKernels = 1'000'000;

LayerProduct product_of_layer(const Reader& from) {
  from.only({"rows_per_sample", "in", "out", "count"});
  LayerProduct product;
  product.rows_per_sample = from.at("rows_per_sample").positive();
  product.in = from.at("in").positive();
  product.out = from.at("out").positive();
  if (const auto count = from.find("count")) product.count = count->positive();
  return product;
}

double non_negative_or_zero(const Reader& from, std::string_view key) {
  const auto member = from.find(key);
  return member ? member->non_negative() : 0;
}

int kernels_or_zero(const Reader& from, std::string_view key) {
  const auto member = from.find(key);
  return member ? member->integer(0, kMostKernels) : 0;
}

// The launches under `key`, part of the seconds per sample under `whole`.
std::vector<KernelLaunch> launches_of(const Reader& from, std::string_view key,
                                      const std::string& whole, double seconds) {
  std::vector<KernelLaunch> launches;
  const auto given = from.find(key);
  if (!given) return launches;
  double together = 0;
  for (const Reader& launch : given->elements()) {
    launches.push_back(launch_of(launch));
    together += launches.back().seconds_per_sample;
  }
  if (together > seconds * (1 + 1e-9))
    given->refuse("take longer together than \"" + whole + "\", of which they are part");
  return launches;
}

Layer layer_of(const Reader& from) {
  from.only({"name", "parameters", "products", "forward_bytes", "backward_bytes", "forward_kernels",
             "backward_kernels", "needs_data_gradient", "forward_s_per_sample",
             "backward_s_per_sample", "forward_launches", "backward_launches"});
  Layer layer;
  layer.name = from.at("name").text();
  for (const Reader& tensor : from.at("parameters").elements()) {
    layer.tensors.push_back(tensor.between(1, kMostParameters));
  }
  if (const auto products = from.find("products")) {
    for (const Reader& product : products->elements()) {
      layer.products.push_back(product_of_layer(product));
    }
  }
  layer.forward_bytes = non_negative_or_zero(from, "forward_bytes");
  layer.backward_bytes = non_negative_or_zero(from, "backward_bytes");
  layer.forward_kernels = kernels_or_zero(from, "forward_kernels");
  layer.backward_kernels = kernels_or_zero(from, "backward_kernels");
  if (const auto needs = from.find("needs_data_gradient")) {
    layer.needs_data_gradient = needs->boolean();
  }
  layer.forward_seconds_per_sample = non_negative_or_zero(from, "forward_s_per_sample");
  layer.backward_seconds_per_sample = non_negative_or_zero(from, "backward_s_per_sample");
  layer.forward_launches = launches_of(from, "forward_launches", "forward_s_per_sample",
                                       layer.forward_seconds_per_sample);
  layer.backward_launches = launches_of(from, "backward_launches", "backward_s_per_sample",
                                        layer.backward_seconds_per_sample);
  const double given = layer.forward_seconds_per_sample + layer.backward_seconds_per_sample;
  if (given > 0 && !layer.products.empty()) {
    from.refuse("gives both times per sample and products, which would count twice; keep one");
  }
  return layer;
}

bool computes(const Layer& layer) {
  return !layer.products.empty() ||
         layer.forward_seconds_per_sample + layer.backward_seconds_per_sample > 0;
}

template <class Number>
void append_unless_zero(JsonObject& members, const char* key, Number value) {
  if (value != 0) members.emplace_back(key, value);
}

void append_unless_empty(JsonObject& members, const char* key,
                         const std::vector<KernelLaunch>& launches) {
  if (launches.empty()) return;
  JsonArray values;
  for (const KernelLaunch& launch : launches) values.emplace_back(launch_json(launch));
  members.emplace_back(key, std::move(values));
}

JsonObject layer_json(const Layer& layer) {
  JsonArray products;
  for (const LayerProduct& product : layer.products) {
    JsonObject members;
    members.emplace_back("rows_per_sample", product.rows_per_sample);
    members.emplace_back("in", product.in);
    members.emplace_back("out", product.out);
    if (product.count != 1) members.emplace_back("count", product.count);
    products.emplace_back(std::move(members));
  }
  JsonObject members;
  members.emplace_back("name", layer.name);
  members.emplace_back("parameters", array_json(layer.tensors));
  members.emplace_back("products", std::move(products));
  append_unless_zero(members, "forward_bytes", layer.forward_bytes);
  append_unless_zero(members, "backward_bytes", layer.backward_bytes);
  append_unless_zero(members, "forward_kernels", layer.forward_kernels);
  append_unless_zero(members, "backward_kernels", layer.backward_kernels);
  if (!layer.needs_data_gradient) members.emplace_back("needs_data_gradient", false);
  append_unless_zero(members, "forward_s_per_sample", layer.forward_seconds_per_sample);
  append_unless_zero(members, "backward_s_per_sample", layer.backward_seconds_per_sample);
  append_unless_empty(members, "forward_launches", layer.forward_launches);
  append_unless_empty(members, "backward_launches", layer.backward_launches);
  return members;
}

}  // namespace

Network network_from_json(std::string_view text, std::string_view place) {
  const Document document = open_document(text, place, kNetworkSchema);
  const Context context =
      context_of(document, {"name", "width", "activation_bytes_per_sample", "captured", "layers"});
  const Reader top(document);
  Network network;
  network.name = top.at("name").label();
  if (const auto width = top.find("width")) network.width = width->positive();
  network.activation_bytes = non_negative_or_zero(top, "activation_bytes_per_sample");
  if (const auto captured = top.find("captured")) {
    network.captured = captured_of(*captured);
    for (const auto& [key, value] : context) {
      if (key == "device") network.captured->device = value;
    }
  }
  const Reader layers = top.at("layers");
  bool any = false;
  for (const Reader& layer : layers.filled()) {
    network.layers.push_back(layer_of(layer));
    any = any || computes(network.layers.back());
  }
  const double parameters = network.parameters();
  if (parameters < 1) layers.refuse("have no parameters; there is no gradient to share");
  if (parameters > kMostParameters) layers.refuse("have more than 1e15 parameters together");
  if (!any) {
    layers.refuse(
        "compute nothing; give \"products\", or \"forward_s_per_sample\" and "
        "\"backward_s_per_sample\"");
  }
  return network;
}

std::string to_json(const Network& network, const Context& context) {
  JsonArray layers;
  for (const Layer& layer : network.layers) layers.emplace_back(layer_json(layer));
  JsonObject members = opening(kNetworkSchema, context);
  members.emplace_back("name", network.name);
  append_unless_zero(members, "width", network.width);
  append_unless_zero(members, "activation_bytes_per_sample", network.activation_bytes);
  if (network.captured) members.emplace_back("captured", captured_json(*network.captured));
  members.emplace_back("layers", std::move(layers));
  return print(std::move(members));
}

}  // namespace ddpx::io
