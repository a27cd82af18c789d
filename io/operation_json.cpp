#include "io/operation_json.hpp"

namespace ddpx::io {

DType dtype_of(const Reader& from) {
  return from.one_of({DType::fp32, DType::tf32, DType::bf16, DType::fp16});
}

Collective collective_of(const Reader& from) {
  return from.one_of({Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter});
}

Optimizer optimizer_of(const Reader& from) {
  return from.one_of({Optimizer::sgd, Optimizer::adamw});
}

Topology topology_of(const Reader& from) {
  return from.one_of({Topology::nvlink, Topology::pcie, Topology::pcie_host, Topology::network,
                      Topology::host_memory});
}

Product product_of(const Reader& from) {
  Product product;
  product.pass =
      from.at("pass").one_of({Pass::forward, Pass::data_gradient, Pass::weight_gradient});
  product.dtype = dtype_of(from.at("dtype"));
  product.rows = from.at("rows").positive();
  product.in = from.at("in").positive();
  product.out = from.at("out").positive();
  return product;
}

void append_product(JsonObject& members, const Product& product) {
  members.emplace_back("pass", name(product.pass));
  members.emplace_back("dtype", name(product.dtype));
  members.emplace_back("rows", product.rows);
  members.emplace_back("in", product.in);
  members.emplace_back("out", product.out);
}

Device device_of(const Reader& from) {
  constexpr int kMostMultiprocessors = 100'000;
  constexpr int kNewestCapability = 10'000;
  from.only({"name", "multiprocessors", "compute_capability", "memory_bytes", "nvlink_generation",
             "pcie_generation"});
  Device device;
  device.name = from.at("name").label();
  device.multiprocessors = from.at("multiprocessors").integer(0, kMostMultiprocessors);
  device.compute_capability = from.at("compute_capability").integer(0, kNewestCapability);
  device.memory = Bytes(from.at("memory_bytes").plausible(kMemorySize));
  device.nvlink_generation = text_or_empty(from, "nvlink_generation");
  device.pcie_generation = text_or_empty(from, "pcie_generation");
  return device;
}

JsonObject device_json(const Device& device) {
  JsonObject members;
  members.emplace_back("name", device.name);
  members.emplace_back("multiprocessors", device.multiprocessors);
  members.emplace_back("compute_capability", device.compute_capability);
  members.emplace_back("memory_bytes", device.memory.value());
  members.emplace_back("nvlink_generation", device.nvlink_generation);
  members.emplace_back("pcie_generation", device.pcie_generation);
  return members;
}

JsonArray array_json(std::span<const std::string> values) {
  JsonArray array(values.begin(), values.end());
  return array;
}

JsonArray array_json(std::span<const double> values) {
  JsonArray array(values.begin(), values.end());
  return array;
}

std::string text_or_empty(const Reader& from, std::string_view key) {
  const auto member = from.find(key);
  return member ? member->text() : std::string();
}

}  // namespace ddpx::io
