// One optimizer step of data-parallel training, really done: forward, backward, gradients shared by
// the job's strategy, SGD. The order of work is the one that model/step.hpp prices, and it stands
// here once for every device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/strategy.hpp"
#include "profiler/engine/sharing.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::engine {

// Samples of one micro-batch in device memory: inputs (a row each) and the classes they belong to.
struct MicroBatch {
  Slice inputs;
  Slice labels;
};

class Trainer {
 public:
  // Throws InputError for a job that this engine or this device cannot run. Keeps a reference to
  // the device. `job.gpus` must be the device's number of ranks. Collective.
  Trainer(Device& device, const Network& network, const Job& job, float learning_rate);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }  // samples per micro-batch

  // In PyTorch's order: layer by layer, weight before bias. Collective.
  void set_parameters(std::span<const float> forward_order);
  // To initial_parameters() of the seed, a tensor at a time: a large network's would take seconds
  // and as much host memory as the device has. Collective.
  void initialise(std::uint64_t seed, Pulse& pulse);
  [[nodiscard]] std::vector<float> parameters();
  // Of the last step, as the optimizer saw them: averaged over ranks and micro-batches. Not with
  // FSDP, which keeps a shard.
  [[nodiscard]] std::vector<float> gradients();
  // Of the last step: mean over this rank's samples.
  [[nodiscard]] double loss();

  // Issues one step over the strategy's micro-batches; Device::synchronize() ends it. The loss is
  // the mean over all samples of the step.
  void step(std::span<const MicroBatch> micro_batches, Trace* trace = nullptr);

 private:
  struct Turn {
    bool first = false;
    bool last = false;
    Trace* trace = nullptr;  // of the last micro-batch
  };

  void run(const MicroBatch& batch, const Turn& turn);
  void forward(const MicroBatch& batch, const Turn& turn);
  void backward(const MicroBatch& batch, const Turn& turn);
  void backward_of(std::size_t layer, Slice input, Slice output_gradient, const Turn& turn);
  [[nodiscard]] Product product_of(const LinearLayer& layer, Pass pass) const;

  Device& device_;
  Layout layout_;
  Job job_;
  float learning_rate_;
  std::size_t rows_;
  Buffer parameters_;  // flat, in Layout's order
  Buffer gradients_;
  Buffer fresh_;  // a tensor's gradient before it is added to those of earlier micro-batches
  std::vector<Buffer> outputs_;  // of each layer, after ReLU
  Buffer output_gradients_[2];   // of the layer at hand and of the one before it
  Buffer loss_;
  std::unique_ptr<Sharing> sharing_;
};

}  // namespace ddpx::engine
