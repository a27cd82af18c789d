#include "profiler/cuda/workload.hpp"

#include <algorithm>
#include <cmath>

#include "model/error.hpp"

namespace ddpx::cuda {
namespace {

constexpr double kMostRing = 64;
constexpr double kMostBytes = 8e9;  // of one ring
constexpr float kRate = 1e-6F;

std::size_t count(double value) { return static_cast<std::size_t>(value); }

}  // namespace

bool Workload::supports(const Operation& operation, const Gpu& gpu, int ranks) {
  if (const auto* product = std::get_if<Product>(&operation)) return gpu.supports(product->dtype);
  if (const auto* call = std::get_if<CollectiveCall>(&operation)) {
    const double shard = call->bytes.value() / element_bytes(call->dtype) / ranks;
    return ranks > 1 && call->ranks == ranks && call->dtype != DType::tf32 &&
           gpu.supports(call->dtype) && shard >= 1 && shard == std::floor(shard);
  }
  if (const auto* between = std::get_if<Elementwise>(&operation))
    return between->dtype != DType::tf32 && gpu.supports(between->dtype);
  return true;
}

Workload::Workload(const Operation& operation, Gpu& gpu, Communicator& communicator)
    : gpu_(gpu), communicator_(communicator), stream_(gpu.compute()) {
  if (!supports(operation, gpu, communicator.ranks()))
    throw DeviceError("CUDA backend: does not support " + describe(operation));
  std::visit([this](const auto& o) { prepare(o); }, operation);
}

Elements Workload::buffer(std::size_t count, DType dtype) {
  const std::size_t bytes = count * static_cast<std::size_t>(element_bytes(dtype));
  memory_.push_back(allocate_memory(std::max<std::size_t>(bytes, 1)));
  const Elements elements{memory_.back().get(), count, dtype};
  fill_random(elements, static_cast<unsigned>(memory_.size()), gpu_.compute());
  check(cudaStreamSynchronize(gpu_.compute()), "filling operands");
  return elements;
}

// cudaMemset() does not wait, nor do streams of our own for it.
void Workload::clear(void* data, std::size_t bytes) {
  check(cudaMemsetAsync(data, 0, bytes, gpu_.compute()), "clearing operands");
  check(cudaStreamSynchronize(gpu_.compute()), "clearing operands");
}

Elements Workload::zeroed(std::size_t count) {
  const Elements elements = buffer(count, DType::fp32);
  clear(elements.data, count * sizeof(float));
  return elements;
}

std::size_t Workload::ring_for(double bytes) const {
  const double cold = std::ceil(2.0 * static_cast<double>(gpu_.l2_bytes()) / bytes);
  const double room = std::floor(kMostBytes / bytes);
  return count(std::max(1.0, std::min({std::max(cold, 2.0), room, kMostRing})));
}

void Workload::prepare(const Product& product) {
  const std::size_t inputs = count(product.rows * product.in);
  const std::size_t outputs = count(product.rows * product.out);
  const std::size_t weights = count(product.in * product.out);
  // The hot operand is what the step has just written; the cold ones go round.
  struct Cold {
    Elements read;
    Elements written;
  };
  const bool forward = product.pass == Pass::forward;
  const bool weight_gradient = product.pass == Pass::weight_gradient;
  const Elements hot = buffer(forward ? inputs : outputs, product.dtype);
  const std::size_t read = weight_gradient ? inputs : weights;
  const std::size_t written = weight_gradient ? weights : forward ? outputs : inputs;
  const double bytes = element_bytes(product.dtype) *
                       static_cast<double>(read + (weight_gradient || forward ? written : 0));
  const std::size_t layers = ring_for(bytes);
  // The gradient handed on is overwritten by every layer in turn; outputs and weight gradients are
  // kept, so each layer has its own.
  const Elements handed_on =
      product.pass == Pass::data_gradient ? buffer(written, product.dtype) : Elements{};
  std::vector<Cold> ring;
  for (std::size_t i = 0; i < layers; ++i)
    ring.push_back({buffer(read, product.dtype),
                    handed_on.data != nullptr ? handed_on : buffer(written, product.dtype)});
  issue_ = [this, product, hot, ring = std::move(ring)](std::size_t i) {
    const Cold& layer = ring[i % ring.size()];
    gpu_.multiply(product, hot.data, layer.read.data, layer.written.data);
  };
}

void Workload::prepare(const CollectiveCall& call) {
  stream_ = gpu_.communication();
  const std::size_t whole = count(call.bytes.value() / element_bytes(call.dtype));
  const std::size_t shard = whole / static_cast<std::size_t>(communicator_.ranks());
  const Elements all = buffer(whole, call.dtype);
  // Sums of random numbers, again and again, would leave the range; of zeros they stay, and NCCL's
  // speed does not depend on values.
  clear(all.data, whole * static_cast<std::size_t>(element_bytes(call.dtype)));
  const Elements part =
      call.kind == Collective::all_reduce ? Elements{} : buffer(shard, call.dtype);
  issue_ = [this, kind = call.kind, all, part](std::size_t) {
    const Elements from = kind == Collective::all_gather ? part : all;
    const Elements to = kind == Collective::reduce_scatter ? part : all;
    communicator_.issue(kind, from, to, stream_);
  };
}

void Workload::prepare(const Copy& copy) {
  const std::size_t bytes = count(copy.bytes.value());
  const std::size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
  std::vector<std::pair<Elements, Elements>> ring;
  for (std::size_t i = ring_for(2 * copy.bytes.value()); i > 0; --i)
    ring.emplace_back(buffer(floats, DType::fp32), buffer(floats, DType::fp32));
  issue_ = [this, ring = std::move(ring)](std::size_t i) {
    const auto& [from, to] = ring[i % ring.size()];
    copy_scaled(from, 0.5F, to, stream_);
  };
}

void Workload::prepare(const OptimizerStep& step) {
  const std::size_t parameters = count(step.parameters);
  const bool moments = step.optimizer == Optimizer::adamw;
  std::vector<AdamWState> ring;
  for (std::size_t i = ring_for((moments ? 16 : 8) * step.parameters); i > 0; --i) {
    AdamWState state;
    state.parameters = buffer(parameters, DType::fp32);
    state.gradients = buffer(parameters, DType::fp32);
    if (moments) {
      state.first = buffer(parameters, DType::fp32);
      state.second = zeroed(parameters);  // squares: random ones would have no root
      state.count = zeroed(engine::kAdamWCountElements);
    }
    ring.push_back(state);
  }
  issue_ = [this, moments, ring = std::move(ring)](std::size_t i) {
    const AdamWState& s = ring[i % ring.size()];
    if (moments) {
      adamw(s, {.rate = double{kRate}}, stream_);
    } else {
      sgd(s.parameters, s.gradients, kRate, stream_);
    }
  };
}

// A step finds the product's result, or the gradient handed on, where it has just been written; the
// activation of forward has left the cache by the time backward reads it.
void Workload::prepare(const Elementwise& work) {
  const std::size_t elements = count(work.rows * work.columns);
  const Elements written = buffer(elements, work.dtype);
  if (work.kernel == RowKernel::relu_gradient) {
    std::vector<Elements> ring;
    for (std::size_t i = ring_for(work.bytes().value() / 3); i > 0; --i)
      ring.push_back(buffer(elements, work.dtype));
    issue_ = [this, written, ring = std::move(ring)](std::size_t i) {
      relu_backward(written, ring[i % ring.size()], stream_);
    };
    return;
  }
  const Elements row = buffer(count(work.columns), work.dtype);
  issue_ = [this, kernel = work.kernel, written, row](std::size_t) {
    if (kernel == RowKernel::bias_relu) {
      add_bias(written, row, true, stream_);
    } else {
      sum_rows(written, row, stream_);
    }
  };
}

void Workload::prepare(const Launch& /*launch*/) {
  const Elements one = buffer(1, DType::fp32);
  issue_ = [this, one](std::size_t) { copy_scaled(one, 1.0F, one, stream_); };
}

}  // namespace ddpx::cuda
