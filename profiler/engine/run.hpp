// Timed training of one process set: what a row of a runs file is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/strategy.hpp"
#include "model/timeline.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::engine {

struct RunOptions {
  int steps = 20;  // at most
  // Steps beyond the third are left out when they would take longer than this, judged from the
  // warm-up.
  std::optional<Seconds> budget = std::nullopt;
  int warmup = 5;  // caches, buffers and connections are touched for the first time
  std::uint64_t seed = 1;
  // nullopt: usual_rate() of the job's optimizer.
  std::optional<float> learning_rate = std::nullopt;
  bool traced = false;  // one more step after the timed ones
  // The step is recorded after the warm-up (which must not be empty) and replayed as one launch:
  // CUDA graphs, so GPU ranks only. The traced step is issued piece by piece.
  bool graphs = false;
  bool gaps = false;  // some more steps after the timed ones, for EngineRun::gap
};

struct EngineRun {
  std::vector<double> step_times_s;  // the slowest rank's, the same on all ranks
  std::optional<double> first_loss;  // of this rank, before any update; with warm-up only
  double last_loss = 0;
  Timeline timeline;  // of this rank, when traced
  double communication_share = 0;
  // Device::busy_share() of one rank, when traced.
  std::optional<double> busy_share;
  std::optional<Seconds> gap;  // Device::gap(), the slowest rank's, when asked for
};

// Trains network by `job` on every rank of the device, which must be job.gpus. Throws InputError
// for options or a job that make no sense. Collective.
[[nodiscard]] EngineRun run_engine(Device& device, const Network& network, const Job& job,
                                   const RunOptions& options, Pulse& pulse);

}  // namespace ddpx::engine
