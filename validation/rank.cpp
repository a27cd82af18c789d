#include "validation/rank.hpp"

#include <cstdlib>

#include "io/provenance.hpp"
#include "io/runs_json.hpp"
#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "profiler/backends.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/engine/run.hpp"
#include "profiler/rank.hpp"

namespace ddpx {
namespace {

constexpr const char* kProgram = "ddpx-validate";

// Long enough for a median of some steps on slow links, short enough for many rows. GPUs repeat
// their steps to a fraction of a per cent.
constexpr Seconds kOnCores{1.5};
constexpr Seconds kOnGpus{0.3};

RunRow trained(engine::Device& device, RunRow row, Pulse& pulse) {
  const bool gpu = device.hardware().device.multiprocessors > 0;
  const engine::RunOptions timed{.steps = 200,
                                 .budget = gpu ? kOnGpus : kOnCores,
                                 .warmup = 3,
                                 .traced = true,
                                 .graphs = row.job.graphs};
  const engine::EngineRun run =
      engine::run_engine(device, network_from(row.network), row.job, timed, pulse);
  row.processes = {{run.step_times_s}};
  row.timeline = run.timeline;
  if (row.job.gpus == 1) row.device_busy_share = run.busy_share;
  if (row.job.gpus > 1) row.measured_communication_share = run.communication_share;
  return row;
}

}  // namespace

void train_as_rank(const std::string& backend) {
  const auto place = rank_place();
  if (!place || place->directory.empty())
    throw InputError(kRankWord, "is how ddpx-validate --run starts its ranks; use --run");
  Rank rank(*place, kProgram);
  try {
    std::vector<RunRow> rows = io::work_from_json(given_work(*place), kRankWord);
    rank.begin({0, rows.size(), {}, "starting"});
    const auto device = make_device(backend, rank);
    Runs runs;
    runs.name = backend;
    runs.origin = Origin::native;
    runs.context = io::provenance();
    const Hardware hardware = device->hardware();
    runs.context.insert(runs.context.end(), hardware.context.begin(), hardware.context.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rank.begin({i,
                  rows.size(),
                  {},
                  "training " + rows[i].network + ", " + describe(rows[i].job.strategy)});
      runs.rows.push_back(trained(*device, std::move(rows[i]), rank));
      if (rank.is_first()) rank.publish(io::to_json(runs));
    }
  } catch (const std::exception& error) {
    const bool refused = dynamic_cast<const InputError*>(&error) != nullptr;
    rank.fail(error.what(), refused ? RankState::refused : RankState::failed);
    std::_Exit(kDeviceExit);  // the launcher says it
  }
  rank.finish();
}

}  // namespace ddpx
