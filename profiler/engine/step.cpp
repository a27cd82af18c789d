#include "profiler/engine/step.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/error.hpp"
#include "profiler/engine/data.hpp"

namespace ddpx::engine {
namespace {

std::size_t rows_of(const Job& job) {
  const double rows = job.samples_per_micro_batch();
  if (rows >= 1 && rows == std::floor(rows)) return static_cast<std::size_t>(rows);
  throw InputError("--batch", "a rank gets " + std::to_string(rows) +
                                  " samples; give a batch that divides into whole samples");
}

const Job& checked(const Job& job, const Device& device) {
  check(job);
  if (job.gpus != device.ranks()) {
    throw InputError("--gpus", std::to_string(job.gpus) + " ranks asked for, " +
                                   std::to_string(device.ranks()) + " running; start as many");
  }
  if (!device.supports(job.dtype)) {
    throw InputError("--dtype",
                     "this device has no " + std::string(name(job.dtype)) + " products; give fp32");
  }
  if (job.optimizer != Optimizer::sgd) {
    throw InputError("--optimizer",
                     "the native engine runs sgd, not " + std::string(name(job.optimizer)));
  }
  const Strategy& strategy = job.strategy;
  const bool known =
      strategy.sharding == Sharding::none || strategy.sharding == Sharding::fsdp_unit;
  if (!known || strategy.sync_every || !strategy.overlap) {
    throw InputError("--strategy", "the native engine does not run '" + describe(strategy) +
                                       "'; it runs ddp with buckets, hooks and accumulation, "
                                       "fsdp=unit and no-sync");
  }
  return job;
}

}  // namespace

Trainer::Trainer(Device& device, const Network& network, const Job& job, float learning_rate)
    : device_(device),
      layout_(network),
      job_(checked(job, device)),
      learning_rate_(learning_rate),
      rows_(rows_of(job)) {
  const std::size_t flat = padded_parameters(layout_, job.strategy, device.ranks());
  parameters_ = device.allocate(flat, DType::fp32);
  gradients_ = device.allocate(flat, DType::fp32);
  std::size_t largest = 0;
  for (const Tensor& tensor : layout_.arrival()) largest = std::max(largest, tensor.elements);
  if (job.strategy.micro_batches > 1) fresh_ = device.allocate(largest, DType::fp32);
  for (const LinearLayer& layer : layout_.layers())
    outputs_.push_back(device.allocate(rows_ * layer.out, DType::fp32));
  for (Buffer& buffer : output_gradients_)
    buffer = device.allocate(rows_ * layout_.widest(), DType::fp32);
  loss_ = device.allocate(1, DType::fp32);
  sharing_ = make_sharing(device, layout_, job.strategy, {parameters_.all(), gradients_.all()});
}

void Trainer::set_parameters(std::span<const float> forward_order) {
  device_.upload(layout_.to_flat(forward_order), parameters_.part(0, layout_.parameters()));
  sharing_->scatter_parameters();
  device_.synchronize();
}

void Trainer::initialise(std::uint64_t seed, Pulse& pulse) {
  std::size_t first = 0;  // in PyTorch's order
  std::vector<float> values;
  for (const LinearLayer& layer : layout_.layers()) {
    for (const Tensor& tensor : {layer.weight, layer.bias}) {
      values.resize(tensor.elements);
      initial_values(layer, seed, first, values);
      device_.upload(values, parameters_.part(tensor.begin, tensor.elements));
      first += tensor.elements;
      pulse.tick();
    }
  }
  sharing_->scatter_parameters();
  device_.synchronize();
}

std::vector<float> Trainer::parameters() {
  sharing_->gather_parameters();
  std::vector<float> flat(layout_.parameters());
  device_.download(parameters_.part(0, flat.size()), flat);
  return layout_.to_forward_order(flat);
}

std::vector<float> Trainer::gradients() {
  const Slice seen = sharing_->to_update().gradients;
  std::vector<float> flat(std::min(seen.elements, layout_.parameters()));
  device_.download(seen.part(0, flat.size()), flat);
  return layout_.to_forward_order(flat);
}

double Trainer::loss() {
  float value = 0;
  device_.download(loss_.all(), {&value, 1});
  return static_cast<double>(value);
}

void Trainer::step(std::span<const MicroBatch> micro_batches, Trace* trace) {
  if (trace != nullptr) trace->begin_step();
  const std::size_t last = micro_batches.size() - 1;
  if (last > 0) {
    spanned(trace, Stream::compute, "earlier micro-batches", last, [&] {
      for (std::size_t i = 0; i < last; ++i)
        run(micro_batches[i], {.first = i == 0, .last = false, .trace = nullptr});
    });
  }
  run(micro_batches[last], {.first = last == 0, .last = true, .trace = trace});
  spanned(trace, Stream::compute, "optimizer", 0, [&] {
    const Weights weights = sharing_->to_update();
    device_.sgd(weights.parameters, weights.gradients, learning_rate_);
  });
}

void Trainer::run(const MicroBatch& batch, const Turn& turn) {
  sharing_->before_forward(turn.trace);
  spanned(turn.trace, Stream::compute, "forward", 0, [&] { forward(batch, turn); });
  backward(batch, turn);
  sharing_->after_backward(turn.first, turn.last, turn.trace);
}

Product Trainer::product_of(const LinearLayer& layer, Pass pass) const {
  return {.pass = pass,
          .dtype = job_.dtype,
          .rows = static_cast<double>(rows_),
          .in = static_cast<double>(layer.in),
          .out = static_cast<double>(layer.out)};
}

void Trainer::forward(const MicroBatch& batch, const Turn& turn) {
  Slice input = batch.inputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const LinearLayer& layer = layout_.layers()[i];
    const Slice output = outputs_[i].all();
    device_.product(product_of(layer, Pass::forward), input,
                    parameters_.part(layer.weight.begin, layer.weight.elements), output);
    device_.add_bias(output, parameters_.part(layer.bias.begin, layer.bias.elements), layer.relu);
    input = output;
  }
  const auto samples = static_cast<float>(rows_) * static_cast<float>(job_.strategy.micro_batches);
  device_.cross_entropy(input, batch.labels, 1.0F / samples, turn.first, loss_.all(),
                        output_gradients_[(outputs_.size() - 1) % 2].part(0, input.elements));
}

void Trainer::backward(const MicroBatch& batch, const Turn& turn) {
  for (std::size_t i = outputs_.size(); i-- > 0;) {
    const LinearLayer& layer = layout_.layers()[i];
    const Slice output_gradient = output_gradients_[i % 2].part(0, rows_ * layer.out);
    const Slice input = i > 0 ? outputs_[i - 1].all() : batch.inputs;
    spanned(turn.trace, Stream::compute, "backward", i,
            [&] { backward_of(i, input, output_gradient, turn); });
    if (!turn.last) continue;
    sharing_->arrived(layer.bias_arrival, turn.trace);
    sharing_->arrived(layer.bias_arrival + 1, turn.trace);
  }
}

void Trainer::backward_of(std::size_t i, Slice input, Slice output_gradient, const Turn& turn) {
  const LinearLayer& layer = layout_.layers()[i];
  const bool adds = !turn.first && !sharing_->starts_afresh();
  const Slice bias = gradients_.part(layer.bias.begin, layer.bias.elements);
  const Slice weight = gradients_.part(layer.weight.begin, layer.weight.elements);
  if (layer.relu) device_.relu_backward(output_gradient, outputs_[i].all());
  const Slice new_bias = adds ? fresh_.part(0, bias.elements) : bias;
  device_.bias_gradient(output_gradient, new_bias);
  if (adds) device_.add(new_bias, bias);
  if (layer.needs_data_gradient) {
    device_.product(product_of(layer, Pass::data_gradient), output_gradient,
                    parameters_.part(layer.weight.begin, layer.weight.elements),
                    output_gradients_[(i + 1) % 2].part(0, rows_ * layer.in));
  }
  const Slice new_weight = adds ? fresh_.part(0, weight.elements) : weight;
  device_.product(product_of(layer, Pass::weight_gradient), output_gradient, input, new_weight);
  if (adds) device_.add(new_weight, weight);
}

}  // namespace ddpx::engine
