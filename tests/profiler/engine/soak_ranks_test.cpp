// Thousands of steps take no more memory than some hundred, on the device and in the process.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using engine::native_job;
using engine::small_network;
using engine::with;

// A GPU takes a tenth of a millisecond for a step of this network; CPU ranks share cores.
constexpr int kStepsOnGpus = 10'000;
constexpr int kStepsOnCores = 2'000;
// Buffers, connections and memory pools have reached their size by then.
constexpr int kBefore = 300;
constexpr int kBetweenWaits = 50;
// Ten bytes a step would show on a GPU, fifty on a core.
constexpr double kSlack = 100e3;
// Libraries take memory in pieces of up to this, once; a leak takes one after another.
constexpr double kOnce = 2.2e6;

struct Growth {
  double device = 0;
  double host = 0;
};

Growth growth_over(int steps, const std::function<void()>& step) {
  engine::Device& device = shared_device();
  const auto run = [&](int count) {
    for (int i = 1; i <= count; ++i) {
      step();
      if (i % kBetweenWaits == 0) device.synchronize();
    }
    device.synchronize();
  };
  run(kBefore);
  const double on_device = device_bytes();
  const double on_host = host_bytes();
  run(steps);
  // The largest of all ranks, so that all of them go on alike.
  std::array<double, 2> growth{device_bytes() - on_device, host_bytes() - on_host};
  device.maximum(growth);
  return {growth[0], growth[1]};
}

void expect_no_growth(const Job& job, bool replayed) {
  engine::Device& device = shared_device();
  engine::Trainer trainer(device, small_network(), job, engine::kRate / 10);
  trainer.set_parameters(engine::initial_parameters(trainer.layout(), 7));
  engine::DeviceBatches batches(device, trainer.layout(), trainer.rows(), 1);
  batches.load(device, 0, samples(trainer.layout(), 8, 0, trainer.rows()));
  std::function<void()> step = [&] { trainer.step(batches.all()); };
  step();
  if (replayed) {
    auto replay = device.recorded(step);
    if (!replay) return;
    step = *std::move(replay);
  }
  const bool gpu = device.hardware().device.multiprocessors > 0;
  const int steps = gpu ? kStepsOnGpus : kStepsOnCores;
  Growth seen = growth_over(steps, step);
  // What is taken once is not taken again.
  if (seen.host > kSlack && seen.host < kOnce) seen = growth_over(steps, step);
  EXPECT_LE(seen.device, 0) << describe(job.strategy) << (replayed ? ", replayed" : "");
  EXPECT_LT(seen.host, kSlack) << describe(job.strategy) << (replayed ? ", replayed" : "");
}

TEST(Soak, thousands_of_steps_take_no_more_memory_than_some_hundred) {
  engine::Device& device = shared_device();
  Strategy buckets;
  buckets.buckets = {Bytes(100), Bytes(2500)};
  buckets.compression = DType::fp16;
  Strategy blocks;
  blocks.sharding = Sharding::fsdp_block;
  for (const Strategy& strategy : {buckets, blocks}) {
    const Job job = with(native_job(device.ranks(), 8, strategy), Optimizer::adamw);
    expect_no_growth(job, false);
    expect_no_growth(job, true);
  }
}

}  // namespace
}  // namespace ddpx::test
