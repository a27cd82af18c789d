// One optimizer step of data-parallel training, really done: forward, backward, gradients shared by
// the job's strategy, the optimizer's update. The order of work is the one that model/step.hpp
// prices, and it stands here once for every device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/strategy.hpp"
#include "profiler/engine/passes.hpp"
#include "profiler/engine/sharing.hpp"
#include "profiler/engine/update.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::engine {

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
  [[nodiscard]] double loss() const { return passes_.last_loss(); }

  // Issues one step over the strategy's micro-batches; Device::synchronize() ends it. The loss is
  // the mean over all samples of the step.
  void step(std::span<const MicroBatch> micro_batches, Trace* trace = nullptr);

 private:
  void run(const MicroBatch& batch, const Turn& turn);

  Device& device_;
  Layout layout_;
  Job job_;
  std::size_t rows_;
  std::unique_ptr<Sharing> sharing_;
  Passes passes_;
  Update update_;
};

}  // namespace ddpx::engine
