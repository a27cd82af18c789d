#include "profiler/cpu/workload.hpp"

#include <cblas.h>

#include <cmath>
#include <cstring>

#include "model/error.hpp"

namespace ddpx::cpu {
namespace {

std::size_t elements(double value) { return static_cast<std::size_t>(value); }

// Row-major, as PyTorch lays a linear layer out: inputs rows x in, weights out x in, outputs rows x out.
void multiply(const Product& product, float* left, float* right, float* result) {
  const auto rows = static_cast<int>(product.rows);
  const auto in = static_cast<int>(product.in);
  const auto out = static_cast<int>(product.out);
  switch (product.pass) {
    case Pass::forward:  // outputs = inputs weights^T
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1, left, in, right, in, 0,
                  result, out);
      return;
    case Pass::data_gradient:  // input gradients = output gradients weights
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1, left, out, right, in,
                  0, result, in);
      return;
    case Pass::weight_gradient:  // weight gradients = output gradients^T inputs
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1, left, out, right, in,
                  0, result, in);
      return;
  }
}

struct Sizes {
  std::size_t left, right, result;
};

Sizes sizes_of(const Product& p) {
  const std::size_t inputs = elements(p.rows * p.in);
  const std::size_t outputs = elements(p.rows * p.out);
  const std::size_t weights = elements(p.in * p.out);
  switch (p.pass) {
    case Pass::forward:
      return {inputs, weights, outputs};
    case Pass::data_gradient:
      return {outputs, weights, inputs};
    case Pass::weight_gradient:
      break;
  }
  return {outputs, inputs, weights};
}

template <class T>
std::function<void(std::size_t)> collective(const Communicator& communicator, Collective kind,
                                            std::span<T> whole) {
  const std::size_t shard = whole.size() / static_cast<std::size_t>(communicator.size());
  const std::span<T> own = whole.subspan(shard * static_cast<std::size_t>(communicator.rank()), shard);
  switch (kind) {
    case Collective::all_reduce:
      return [&communicator, whole](std::size_t) { communicator.all_reduce(whole); };
    case Collective::all_gather:
      return [&communicator, whole, own](std::size_t) {
        communicator.all_gather(std::span<const T>(own), whole);
      };
    case Collective::reduce_scatter:
      break;
  }
  // The result goes behind the last shard: it may not lie inside what is summed.
  const std::span<T> result(whole.data() + whole.size(), shard);
  return [&communicator, whole, result](std::size_t) {
    communicator.reduce_scatter(std::span<const T>(whole), result);
  };
}

}  // namespace

bool Workload::supports(const Operation& operation, int ranks) {
  if (const auto* product = std::get_if<Product>(&operation)) return product->dtype == DType::fp32;
  if (const auto* call = std::get_if<CollectiveCall>(&operation)) {
    const double shard = call->bytes.value() / element_bytes(call->dtype) / ranks;
    return ranks > 1 && call->ranks == ranks &&
           (call->dtype == DType::fp32 || call->dtype == DType::fp16) && shard >= 1 &&
           shard == std::floor(shard);
  }
  if (const auto* step = std::get_if<OptimizerStep>(&operation))
    return step->optimizer == Optimizer::sgd;
  return true;
}

Workload::Workload(const Operation& operation, const Communicator& communicator) {
  if (!supports(operation, communicator.size()))
    throw DeviceError("CPU backend: does not support " + describe(operation));
  std::visit(
      [&](const auto& o) {
        if constexpr (std::is_same_v<std::decay_t<decltype(o)>, CollectiveCall>) {
          prepare(o, communicator);
        } else {
          prepare(o);
        }
      },
      operation);
}

void Workload::prepare(const Product& product) {
  const auto [left, right, result] = sizes_of(product);
  // Aligned like allocations of their own.
  constexpr std::size_t kLine = 16;
  const auto aligned = [](std::size_t floats) { return (floats + kLine - 1) / kLine * kLine; };
  const std::size_t right_at = aligned(left);
  const std::size_t result_at = right_at + aligned(right);
  const std::size_t floats = result_at + result;
  operands_.prepare(Operands::layers_for(floats), floats);
  run_ = [this, product, right_at, result_at](std::size_t i) {
    float* layer = operands_.layer(i).data();
    multiply(product, layer, layer + right_at, layer + result_at);
  };
}

void Workload::prepare(const CollectiveCall& call, const Communicator& communicator) {
  needs_peers_ = true;
  const std::size_t whole = elements(call.bytes.value() / element_bytes(call.dtype));
  const std::size_t shard = whole / static_cast<std::size_t>(communicator.size());
  operands_.prepare(1, whole + shard);
  if (call.dtype == DType::fp32) {
    run_ = collective(communicator, call.kind, operands_.layer(0).first(whole));
    return;
  }
  halves_.resize(whole + shard);
  to_half(operands_.layer(0), halves_);
  run_ = collective(communicator, call.kind, std::span(halves_).first(whole));
}

void Workload::prepare(const Copy& copy) {
  const std::size_t floats = elements(std::ceil(copy.bytes.value() / sizeof(float)));
  const std::size_t bytes = elements(copy.bytes.value());
  operands_.prepare(Operands::layers_for(2 * floats), 2 * floats);
  run_ = [this, floats, bytes](std::size_t i) {
    float* layer = operands_.layer(i).data();
    std::memcpy(layer + floats, layer, bytes);
  };
}

void Workload::prepare(const OptimizerStep& step) {
  const std::size_t floats = elements(step.parameters);
  operands_.prepare(Operands::layers_for(2 * floats), 2 * floats);
  run_ = [this, floats](std::size_t i) {
    float* layer = operands_.layer(i).data();
    cblas_saxpy(static_cast<int>(floats), -0.01F, layer + floats, 1, layer, 1);
  };
}

void Workload::prepare(const Launch& /*launch*/) {
  operands_.prepare(1, 64);
  run_ = [this](std::size_t) {
    float* values = operands_.layer(0).data();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, 1, 1, 1, values, 1, values + 16, 1, 0,
                values + 32, 1);
  };
}

}  // namespace ddpx::cpu
