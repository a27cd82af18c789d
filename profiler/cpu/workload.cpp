#include "profiler/cpu/workload.hpp"

#include <cmath>
#include <cstring>

#include "model/error.hpp"
#include "profiler/cpu/kernels.hpp"

namespace ddpx::cpu {
namespace {

std::size_t elements(double value) { return static_cast<std::size_t>(value); }

std::size_t floats_of(const Copy& copy) {
  return elements(std::ceil(copy.bytes.value() / sizeof(float)));
}

// Parameters and gradients, and AdamW's two moments.
std::size_t floats_of(const OptimizerStep& step) {
  return (step.optimizer == Optimizer::adamw ? 4 : 2) * elements(step.parameters);
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

}  // namespace

bool Workload::supports(const Operation& operation, int ranks) {
  if (const auto* product = std::get_if<Product>(&operation)) return product->dtype == DType::fp32;
  if (const auto* call = std::get_if<CollectiveCall>(&operation)) {
    const double shard = call->bytes.value() / element_bytes(call->dtype) / ranks;
    return ranks > 1 && call->ranks == ranks && call->dtype != DType::tf32 && shard >= 1 &&
           shard == std::floor(shard);
  }
  return !std::holds_alternative<Elementwise>(operation);
}

Bytes Workload::working_set(const Operation& operation) {
  std::size_t floats = 0;
  if (const auto* copy = std::get_if<Copy>(&operation)) floats = 2 * floats_of(*copy);
  if (const auto* step = std::get_if<OptimizerStep>(&operation)) floats = floats_of(*step);
  if (floats == 0) return {};
  return Bytes(static_cast<double>(Operands::layers_for(floats) * floats * sizeof(float)));
}

Workload::Workload(const Operation& operation, CollectiveQueue& queue, int ranks)
    : queue_(queue), ranks_(ranks) {
  if (!supports(operation, ranks))
    throw DeviceError("CPU backend: does not support " + describe(operation));
  std::visit(
      [this](const auto& o) {
        // Denied by supports().
        if constexpr (!std::is_same_v<std::decay_t<decltype(o)>, Elementwise>) prepare(o);
      },
      operation);
}

CollectiveQueue::Ticket Workload::start(int times) {
  CollectiveQueue::Ticket last = 0;
  for (int i = 0; i < times; ++i) last = queue_.start(buffers_.value());
  return last;
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

void Workload::prepare(const CollectiveCall& call) {
  const auto whole = elements(call.bytes.value());
  const std::size_t shard = whole / static_cast<std::size_t>(ranks_);
  operands_.prepare(1, (whole + shard) / sizeof(float) + 1);
  // For 16-bit formats the same bytes are random numbers of other sizes, some infinite: sums cost
  // the same.
  const auto memory = std::as_writable_bytes(operands_.layer(0));
  buffers_ = {call.kind, call.dtype, memory.first(whole), {}};
  if (call.kind != Collective::all_reduce) buffers_->shard = memory.subspan(whole, shard);
  run_ = [this](std::size_t) { queue_.wait(start(1)); };
}

void Workload::prepare(const Copy& copy) {
  const std::size_t floats = floats_of(copy);
  const std::size_t bytes = elements(copy.bytes.value());
  operands_.prepare(Operands::layers_for(2 * floats), 2 * floats);
  run_ = [this, floats, bytes](std::size_t i) {
    float* layer = operands_.layer(i).data();
    std::memcpy(layer + floats, layer, bytes);
  };
}

void Workload::prepare(const OptimizerStep& step) {
  const std::size_t n = elements(step.parameters);
  const std::size_t floats = floats_of(step);
  operands_.prepare(Operands::layers_for(floats), floats);
  if (step.optimizer == Optimizer::sgd) {
    run_ = [this, n](std::size_t i) {
      const std::span<float> layer = operands_.layer(i);
      sgd(layer.first(n), layer.subspan(n), 0.01F);
    };
    return;
  }
  for (std::size_t i = 0; i < operands_.layers(); ++i) {
    for (float& square : operands_.layer(i).subspan(3 * n)) square *= square;
  }
  run_ = [this, n](std::size_t i) {
    const std::span<float> layer = operands_.layer(i);
    adamw({layer.first(n), layer.subspan(n, n), layer.subspan(2 * n, n), layer.subspan(3 * n)}, {},
          1);
  };
}

void Workload::prepare(const Launch& /*launch*/) {
  operands_.prepare(1, 64);
  run_ = [this](std::size_t) {
    float* values = operands_.layer(0).data();
    multiply({Pass::forward, DType::fp32, 1, 1, 1}, values, values + 16, values + 32);
  };
}

}  // namespace ddpx::cpu
