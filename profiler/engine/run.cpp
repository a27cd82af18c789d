#include "profiler/engine/run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "model/error.hpp"
#include "profiler/engine/data.hpp"
#include "profiler/engine/step.hpp"

namespace ddpx::engine {
namespace {

// With a budget, too: fewer have no median that means much.
constexpr int kFewestSteps = 3;
// Some hundred kernels, and no more than the host can queue.
constexpr int kStepsForGaps = 6;

void check(const RunOptions& options) {
  if (options.steps < 1)
    throw InputError("steps", std::to_string(options.steps) + " given; at least 1 is needed");
  if (options.warmup < 0)
    throw InputError("warmup", std::to_string(options.warmup) + " given; at least 0 is needed");
  if (options.graphs && options.warmup == 0)
    throw InputError("warmup", "is 0; a step is recorded after it has run at least once");
}

// One micro-batch of this rank's own, used by every micro-batch of every step: loading data is not
// part of what is timed.
class Batch {
 public:
  Batch(Device& device, const Trainer& trainer, std::uint64_t seed)
      : inputs_(device.allocate(trainer.rows() * trainer.layout().inputs(), DType::fp32)),
        labels_(device.allocate(trainer.rows(), DType::fp32)) {
    const auto first = static_cast<std::size_t>(device.rank()) * trainer.rows();
    const Samples made = samples(trainer.layout(), seed, first, trainer.rows());
    device.upload(made.inputs, inputs_.all());
    device.upload(made.labels, labels_.all());
  }
  [[nodiscard]] MicroBatch slices() const { return {inputs_.all(), labels_.all()}; }

 private:
  Buffer inputs_;
  Buffer labels_;
};

// Steps that are not recorded, and how many are to follow.
int warm_up(Device& device, Trainer& trainer, std::span<const MicroBatch> micro_batches,
            const RunOptions& options, EngineRun& run, Pulse& pulse) {
  const Event start = device.create_event();
  const Event end = device.create_event();
  double slowest = 0;
  for (int i = 0; i < options.warmup; ++i) {
    device.record(Stream::compute, start);
    trainer.step(micro_batches);
    device.record(Stream::compute, end);
    device.synchronize();
    slowest = device.elapsed(start, end).value();
    if (i == 0) run.first_loss = trainer.loss();
    pulse.tick();
  }
  device.maximum({&slowest, 1});  // every rank takes as many steps
  if (!options.budget || slowest <= 0) return options.steps;
  const double fitting = std::floor(options.budget->value() / slowest);
  return std::min(options.steps, std::max(kFewestSteps, static_cast<int>(std::min(fitting, 1e9))));
}

// The step as it is to be timed.
std::function<void()> made_ready(Device& device, std::function<void()> step, bool graphs) {
  if (!graphs) return step;
  std::optional<std::function<void()>> replay = device.recorded(step);
  if (!replay) {
    throw InputError("--graphs", "asks for CUDA graphs, and " + device.hardware().device.name +
                                     " issues its own work; leave it out, or use GPU ranks");
  }
  // What the first launch of a graph sets up.
  (*replay)();
  device.synchronize();
  return *std::move(replay);
}

}  // namespace

EngineRun run_engine(Device& device, const Network& network, const Job& job,
                     const RunOptions& options, Pulse& pulse) {
  check(options);
  Trainer trainer(device, network, job, options.learning_rate.value_or(usual_rate(job.optimizer)));
  trainer.initialise(options.seed, pulse);
  const Batch batch(device, trainer, options.seed + 1);
  const std::vector<MicroBatch> micro_batches(static_cast<std::size_t>(job.strategy.micro_batches),
                                              batch.slices());

  EngineRun run;
  const int steps = warm_up(device, trainer, micro_batches, options, run, pulse);
  const std::function<void()> step = made_ready(
      device, [&] { trainer.step(micro_batches); }, options.graphs);
  // The end of one step is the beginning of the next: the host may run ahead, as it does in
  // training.
  std::vector<Event> marks;
  for (int i = 0; i <= steps; ++i) marks.push_back(device.create_event());
  device.barrier();
  device.record(Stream::compute, marks.front());
  for (int i = 1; i <= steps; ++i) {
    step();
    device.record(Stream::compute, marks[static_cast<std::size_t>(i)]);
    pulse.tick();
  }
  device.synchronize();
  for (std::size_t i = 1; i < marks.size(); ++i)
    run.step_times_s.push_back(device.elapsed(marks[i - 1], marks[i]).value());
  device.maximum(run.step_times_s);
  run.last_loss = trainer.loss();
  if (!std::isfinite(run.last_loss))
    throw DeviceError("native engine: training " + network.name + ": the loss became " +
                      std::to_string(run.last_loss) + "; these times are not those of training");
  if (options.gaps) {
    const auto own = device.gap([&] {
      for (int i = 0; i < kStepsForGaps; ++i) step();
    });
    // One for all: a rank without records leaves all without.
    std::array<double, 2> slowest{own ? own->value() : 0, own ? 0.0 : 1.0};
    device.maximum(slowest);
    if (slowest[1] == 0) run.gap = Seconds(slowest[0]);
  }
  if (options.traced) {
    std::vector<double> sorted = run.step_times_s;
    std::nth_element(sorted.begin(),
                     sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    if (device.ranks() == 1)
      run.busy_share = device.busy_share(Seconds(sorted[sorted.size() / 2]), step);
    Trace trace(device);
    device.barrier();
    trainer.step(micro_batches, &trace);
    device.synchronize();
    run.timeline = trace.timeline();
    run.communication_share = communication_share(run.timeline);
  }
  return run;
}

}  // namespace ddpx::engine
