#include "calibration/train_steps.hpp"

#include <algorithm>

#include "model/network_spec.hpp"
#include "profiler/engine/run.hpp"

namespace ddpx {
namespace {

// A host has spells of half its speed that outlast one task (H200 hosts: 390 us and 735 us for the
// same work within seconds): short tasks come round again, so that a spell meets all of them.
constexpr int kRounds = 3;
constexpr Seconds kShort{0.3 / kRounds};
constexpr Seconds kLong{1.0};
constexpr Seconds kHalfAMinute{32.0};
constexpr int kMostSteps = 300;
constexpr int kMostSustained = 100'000;
// Products that take microseconds, of a width at which steps are the host's: one of width 64 costs
// the host a third less than one of width 256 (two H200).
constexpr double kSmallBatch = 64;

StepSample native_sample(const std::string& network, double batch, DType dtype) {
  StepSample sample;
  sample.network = network;
  sample.batch = batch;
  sample.dtype = dtype;
  sample.engine = Engine::native;
  return sample;
}

// Many buckets and few, with and without a hook, so that what a tensor and what a bucket costs
// come apart.
std::vector<Strategy> shared_strategies() {
  Strategy many;
  many.buckets = BucketLimits::explicit_cap(kKiB * 16);
  many.explicit_buckets = true;
  Strategy hooked;
  hooked.compression = DType::fp16;
  Strategy hooked_many = many;
  hooked_many.compression = DType::fp16;
  Strategy fsdp;
  fsdp.sharding = Sharding::fsdp_unit;
  Strategy by_block;
  by_block.sharding = Sharding::fsdp_block;
  return {Strategy{}, many, hooked, hooked_many, fsdp, by_block};
}

void add_host_tasks(int ranks, std::vector<StepTask>& tasks) {
  for (const char* network :
       {"mlp:width=256,depth=3", "mlp:width=256,depth=8", "mlp:width=256,depth=24"}) {
    for (const int k : {1, 2}) {
      StepSample sample = native_sample(network, kSmallBatch, DType::fp32);
      sample.micro_batches = k;
      tasks.push_back({sample, kShort});
    }
    if (ranks == 1) continue;
    for (const Strategy& strategy : shared_strategies()) {
      StepSample sample = native_sample(network, kSmallBatch, DType::fp32);
      sample.gpus = ranks;
      sample.strategy = strategy;
      tasks.push_back({sample, kShort});
    }
  }
}

Job job_of(const StepSample& sample, int ranks) {
  Job job;
  job.gpus = ranks;
  job.batch_per_rank = sample.batch;
  job.dtype = sample.dtype;
  job.engine = Engine::native;
  job.strategy = sample.strategy;
  job.strategy.micro_batches = sample.micro_batches;
  // One GPU's step, on every rank at once: they share a host in training too.
  if (sample.gpus == 1) job.strategy.sync = false;
  return job;
}

// All but the times.
bool same_step(const StepSample& a, const StepSample& b) {
  return a.network == b.network && a.batch == b.batch && a.micro_batches == b.micro_batches &&
         a.dtype == b.dtype && a.optimizer == b.optimizer && a.engine == b.engine &&
         a.clocks == b.clocks && a.gpus == b.gpus && a.strategy == b.strategy;
}

void add(StepSample sample, std::vector<StepSample>& steps) {
  const auto known = std::find_if(steps.begin(), steps.end(),
                                  [&](const StepSample& s) { return same_step(s, sample); });
  if (known == steps.end()) return steps.push_back(std::move(sample));
  known->seconds.insert(known->seconds.end(), sample.seconds.begin(), sample.seconds.end());
}

}  // namespace

std::vector<StepTask> step_tasks(Effort effort, int ranks) {
  std::vector<StepTask> tasks;
  for (int round = 0; round < kRounds; ++round) add_host_tasks(ranks, tasks);
  const std::vector<double> widths =
      effort == Effort::quick ? std::vector<double>{4096} : std::vector<double>{2048, 4096, 8192};
  for (const DType dtype : {DType::fp32, DType::tf32}) {
    for (const double width : widths) {
      const std::string network =
          "mlp:width=" + std::to_string(static_cast<int>(width)) + ",depth=8";
      tasks.push_back({native_sample(network, 256, dtype), kLong});
    }
  }
  // Casts and the update are most of a bf16 step on few samples; these are to show its products.
  for (const double width : widths) {
    if (width < 4096) continue;
    const std::string network = "mlp:width=" + std::to_string(static_cast<int>(width)) + ",depth=8";
    tasks.push_back({native_sample(network, 1024, DType::bf16), kLong});
  }
  if (effort == Effort::full) {
    StepSample sustained = native_sample("mlp:width=8192,depth=8", 1024, DType::fp32);
    tasks.push_back({sustained, kLong});
    sustained.clocks = Clocks::sustained;
    tasks.push_back({sustained, kHalfAMinute});
  }
  return tasks;
}

void train_steps(engine::Device& device, const std::vector<StepTask>& tasks,
                 Measurements& measurements, Pulse& pulse,
                 const std::function<void(std::size_t, const std::string&)>& before) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    StepSample sample = tasks[i].sample;
    if (!device.supports(sample.dtype)) continue;
    before(i, "training " + sample.network + ", " + describe(sample.strategy));
    engine::RunOptions options;
    options.budget = tasks[i].time;
    options.steps = sample.clocks == Clocks::sustained ? kMostSustained : kMostSteps;
    sample.seconds = engine::run_engine(device, network_from(sample.network),
                                        job_of(sample, device.ranks()), options, pulse)
                         .step_times_s;
    // The first half minute is what heats the device; the last second is its answer.
    if (sample.clocks == Clocks::sustained && sample.seconds.size() > kMostSteps)
      sample.seconds.erase(sample.seconds.begin(), sample.seconds.end() - kMostSteps);
    add(std::move(sample), measurements.steps);
  }
}

void measure_gaps(engine::Device& device, Measurements& measurements, Pulse& pulse) {
  // Kernels of microseconds, which the host can still keep ahead of.
  constexpr const char* kNetwork = "mlp:width=1280,depth=6";
  constexpr double kBatch = 256;
  // In turn, so that what lies between runs is in both kinds.
  for (int i = 0; i < 2 * kRounds; ++i) {
    const bool collectives = i % 2 == 1;
    if (collectives && device.ranks() == 1) continue;
    StepSample sample = native_sample(kNetwork, kBatch, DType::fp32);
    sample.gpus = collectives ? device.ranks() : 1;
    engine::RunOptions options;
    options.steps = 1;
    options.gaps = true;
    const auto gap = engine::run_engine(device, network_from(kNetwork),
                                        job_of(sample, device.ranks()), options, pulse)
                         .gap;
    if (gap && gap->value() > 0) measurements.gaps.push_back({collectives, gap->value()});
  }
}

}  // namespace ddpx
