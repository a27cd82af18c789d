// A step recorded once and replayed (CUDA graphs) against the same steps issued piece by piece.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "model/error.hpp"
#include "profiler/engine/run.hpp"
#include "tests/profiler/engine/training.hpp"
#include "tests/profiler/ranks.hpp"

namespace ddpx::test {
namespace {

using engine::kSteps;
using engine::native_job;
using engine::small_network;
using engine::Trained;
using engine::with;

// What a step issues, or nullopt where the device cannot record it.
std::optional<Trained> trained(const Job& job, bool replayed) {
  engine::Device& device = shared_device();
  engine::Trainer trainer(device, small_network(), job, engine::kRate / 10);
  const engine::Layout& layout = trainer.layout();
  trainer.set_parameters(engine::initial_parameters(layout, 7));
  const auto k = static_cast<std::size_t>(job.strategy.micro_batches);
  engine::DeviceBatches batches(device, layout, trainer.rows(), k);
  std::function<void()> step = [&] { trainer.step(batches.all()); };
  Trained result;
  for (int s = 0; s < kSteps; ++s) {
    for (std::size_t i = 0; i < k; ++i) {
      const auto part = static_cast<std::size_t>(s * device.ranks() + device.rank()) * k + i;
      batches.load(device, i, samples(layout, 8, part * trainer.rows(), trainer.rows()));
    }
    if (s == 1 && replayed) {
      auto replay = device.recorded(step);
      if (!replay) return std::nullopt;
      step = *std::move(replay);
    }
    step();
    device.synchronize();
    result.losses.push_back(trainer.loss());
  }
  result.parameters = trainer.parameters();
  return result;
}

std::vector<Job> jobs() {
  engine::Device& device = shared_device();
  std::vector<Strategy> strategies = engine::synchronised_strategies();
  Strategy half;
  half.compression = DType::fp16;
  strategies.push_back(half);
  std::vector<Job> all;
  for (Strategy strategy : strategies) {
    for (const int k : {1, 2}) {
      strategy.micro_batches = k;
      all.push_back(native_job(device.ranks(), 6, strategy));
      all.push_back(with(all.back(), Optimizer::adamw));
      if (device.supports(DType::bf16)) all.push_back(with(all.back(), DType::bf16));
    }
  }
  return all;
}

TEST(Graphs, a_replayed_step_is_the_issued_one_to_the_last_bit) {
  for (const Job& job : jobs()) {
    const std::optional<Trained> replayed = trained(job, true);
    if (!replayed) GTEST_SKIP() << "this device records nothing";
    const std::optional<Trained> issued = trained(job, false);
    ASSERT_TRUE(issued);
    EXPECT_EQ(replayed->parameters, issued->parameters) << describe(job.strategy);
    EXPECT_EQ(replayed->losses, issued->losses) << describe(job.strategy);
  }
}

TEST(Graphs, a_run_is_replayed_or_refused_by_name) {
  engine::Device& device = shared_device();
  Pulse pulse;
  const engine::RunOptions options{.steps = 5, .warmup = 1, .traced = true, .graphs = true};
  const bool records = device.recorded([] {}).has_value();
  try {
    const engine::EngineRun run =
        run_engine(device, small_network(), native_job(device.ranks(), 8), options, pulse);
    EXPECT_TRUE(records);
    EXPECT_EQ(run.step_times_s.size(), 5U);
    EXPECT_FALSE(run.timeline.spans.empty());
  } catch (const InputError& error) {
    EXPECT_FALSE(records) << error.what();
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("--graphs"));
  }
}

}  // namespace
}  // namespace ddpx::test
