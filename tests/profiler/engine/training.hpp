// What the engine's tests share: small networks and jobs, and training runs that end in weights.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "model/network.hpp"
#include "model/strategy.hpp"
#include "profiler/engine/data.hpp"
#include "profiler/engine/step.hpp"

namespace ddpx::engine {

inline constexpr float kRate = 0.1F;
// AdamW moves every weight by about its rate, however small the gradient.
inline constexpr float kAdamWRate = 2e-3F;

// Odd sizes on purpose: 21*21 weights and 21 biases per layer, five classes.
inline Network small_network() { return mlp({.width = 21, .depth = 3, .classes = 5}); }

// Two layers of four, three classes: 20, 20 and 15 parameters.
inline Network tiny_network() { return mlp({.width = 4, .depth = 2, .classes = 3}); }

inline Strategy fsdp_unit(int micro_batches = 1) {
  Strategy strategy;
  strategy.sharding = Sharding::fsdp_unit;
  strategy.micro_batches = micro_batches;
  return strategy;
}

inline Job native_job(int ranks, double batch, const Strategy& strategy = {}) {
  Job job;
  job.gpus = ranks;
  job.batch_per_rank = batch;
  job.engine = Engine::native;
  job.strategy = strategy;
  return job;
}

inline Job with(Job job, Optimizer optimizer) {
  job.optimizer = optimizer;
  return job;
}

inline Job with(Job job, DType dtype) {
  job.dtype = dtype;
  return job;
}

// Every way of sharing that leaves fp32 gradients as they are.
inline std::vector<Strategy> synchronised_strategies() {
  Strategy explicit_buckets;
  explicit_buckets.buckets = BucketLimits::explicit_cap(Bytes(1800));
  explicit_buckets.explicit_buckets = true;
  Strategy first_bucket;
  first_bucket.buckets = {Bytes(100), Bytes(2500)};
  Strategy view = first_bucket;
  view.bucket_view = true;
  Strategy blocks;
  blocks.sharding = Sharding::fsdp_block;
  Strategy kept = blocks;
  kept.reshard = false;
  return {Strategy{}, explicit_buckets, first_bucket, view, fsdp_unit(), blocks, kept};
}

// Micro-batches in device memory: samples first, first + rows, ... of a step.
class DeviceBatches {
 public:
  DeviceBatches(Device& device, const Layout& layout, std::size_t rows, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      buffers_.push_back(device.allocate(rows * layout.inputs(), DType::fp32));
      buffers_.push_back(device.allocate(rows, DType::fp32));
      slices_.push_back({buffers_[2 * i].all(), buffers_[2 * i + 1].all()});
    }
  }
  void load(Device& device, std::size_t micro_batch, const Samples& samples) {
    device.upload(samples.inputs, slices_[micro_batch].inputs);
    device.upload(samples.labels, slices_[micro_batch].labels);
  }
  [[nodiscard]] const std::vector<MicroBatch>& all() const { return slices_; }

 private:
  std::vector<Buffer> buffers_;
  std::vector<MicroBatch> slices_;
};

struct Trained {
  std::vector<float> parameters;
  std::vector<double> losses;  // of this rank's samples, before each step's update
};

// `steps` steps from the same start on the same data: step s trains on samples [s*n, (s+1)*n), n =
// ranks * K * batch, of which rank r takes the r-th part and cuts it into micro-batches.
inline Trained train(Device& device, const Network& network, const Job& job, int steps,
                     std::uint64_t seed = 7, int data_rank = -1, int data_ranks = -1) {
  Trainer trainer(device, network, job, job.optimizer == Optimizer::adamw ? kAdamWRate : kRate);
  const Layout& layout = trainer.layout();
  trainer.set_parameters(initial_parameters(layout, seed));
  const auto k = static_cast<std::size_t>(job.strategy.micro_batches);
  const auto rank = static_cast<std::size_t>(data_rank < 0 ? device.rank() : data_rank);
  const auto ranks = static_cast<std::size_t>(data_ranks < 0 ? device.ranks() : data_ranks);
  DeviceBatches batches(device, layout, trainer.rows(), k);
  Trained trained;
  for (int s = 0; s < steps; ++s) {
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t part = (static_cast<std::size_t>(s) * ranks + rank) * k + i;
      batches.load(device, i, samples(layout, seed + 1, part * trainer.rows(), trainer.rows()));
    }
    trainer.step(batches.all());
    device.synchronize();
    trained.losses.push_back(trainer.loss());
  }
  trained.parameters = trainer.parameters();
  return trained;
}

// Of a training that is held against another.
inline constexpr int kSteps = 6;

// The largest difference, relative to the largest value.
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{b[i]}));
    const double d = std::abs(double{a[i]} - double{b[i]});
    if (!(d <= apart)) apart = d;  // a NaN stays
  }
  return apart / largest;
}

// A few units in the last place of an fp32 sum over some hundred terms, over some steps.
inline constexpr double kSameToRounding = 2e-6;

}  // namespace ddpx::engine
