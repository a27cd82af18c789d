#include "calibration/run.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "calibration/request.hpp"
#include "calibration/sweep.hpp"
#include "calibration/train_steps.hpp"
#include "cli/progress_line.hpp"
#include "io/catalog.hpp"
#include "io/file.hpp"
#include "io/measurements_json.hpp"
#include "io/provenance.hpp"
#include "model/error.hpp"
#include "profiler/backends.hpp"
#include "profiler/engine/device.hpp"

namespace ddpx {
namespace {

constexpr const char* kProgram = "ddpx-calibrate";
// What all GPUs run at once: it fills any, in the format that every one has, for long enough to be
// its clock's affair.
constexpr Product kLoad{Pass::forward, DType::fp32, 4096, 8192, 8192};
constexpr Seconds kBurst{1.0};
constexpr Seconds kHalfAMinute{30.0};

void add_steps(const MeasureRequest& request, Measurements& measurements, Rank& rank) {
  const auto device = make_device(request.backend, rank);
  const std::vector<StepTask> tasks = step_tasks(request.plan.effort, device->ranks());
  Seconds left{};
  for (const StepTask& task : tasks) left += task.time;
  train_steps(*device, tasks, measurements, rank, [&](std::size_t done, const std::string& next) {
    rank.begin({done, tasks.size(), left, next});
    if (rank.is_first()) rank.publish(io::to_json(measurements));
    left -= tasks[done].time;
  });
  // Last: whatever traces kernels may stay with the process.
  rank.begin({tasks.size(), tasks.size(), Seconds{}, "gaps between kernels"});
  measure_gaps(*device, measurements, rank);
  if (rank.is_first()) rank.publish(io::to_json(measurements));
}

Measurements measured_on(const MeasureRequest& request, Rank& rank) {
  std::unique_ptr<Backend> backend = make_backend(request.backend, rank, request.device);
  const Hardware hardware = backend->hardware();
  if (hardware.ranks != rank.ranks()) {
    throw InputError("the environment",
                     "says that this is one of " + std::to_string(rank.ranks()) +
                         " ranks (mpirun's, srun's or torchrun's variables), but " +
                         std::to_string(hardware.ranks) +
                         " joined; unset them, or start CPU ranks by mpirun");
  }
  rank.begin({0, 0, {}, "pairs of GPUs"});
  const std::vector<PairSample> pairs = backend->pairs();
  rank.begin({0, 0, {}, "a first look"});
  const MeasurementPlan plan = make_plan(
      request.plan, hardware.ranks, [&](const Operation& o) { return backend->supports(o); },
      first_look(*backend));
  Measurements measurements = opened(hardware, request.backend);
  auto context = io::provenance();
  context.insert(context.end(), measurements.context.begin(), measurements.context.end());
  measurements.context = std::move(context);
  if (request.link && !measurements.links.empty()) measurements.links.front().name = *request.link;
  measurements.pairs = pairs;
  const auto load = [&](Clocks clocks, Seconds time) {
    if (hardware.device.multiprocessors == 0 || request.only_link) return;
    rank.begin({0, 0, time, "products on all GPUs at once, " + std::string(name(clocks))});
    std::vector<RankLoad> ranks = backend->load(kLoad, clocks, time);
    if (!ranks.empty()) measurements.loads.push_back({kLoad, clocks, std::move(ranks)});
  };
  load(Clocks::burst, kBurst);
  SweepHooks hooks;
  hooks.before = [&](const SweepProgress& progress, const Measurements& so_far) {
    rank.begin({progress.done, progress.total, progress.left, progress.operation});
    if (rank.is_first()) rank.publish(io::to_json(so_far));
  };
  sweep(*backend, plan, measurements, hooks);
  if (request.plan.effort == Effort::full) load(Clocks::sustained, kHalfAMinute);
  backend.reset();  // its connections and memory make room for the engine's
  // A core that computes and issues its own work has no host to measure apart.
  if (hardware.device.multiprocessors > 0 && !request.only_link)
    add_steps(request, measurements, rank);
  return measurements;
}

// In the user's data directory or, where there is none, the temporary one.
std::string unfinished_path() {
  try {
    return usual_measurements_path("unfinished");
  } catch (const InputError&) {
    return (std::filesystem::temp_directory_path() /
            ("ddpx-unfinished-" + std::to_string(::getpid()) + ".json"))
        .string();
  }
}

constexpr const char* kRanksMeasurements = "the ranks' measurements";

// What process sets have brought home, `earlier` ones and the last.
Gathered together(const std::optional<Gathered>& earlier, const std::string& results,
                  const MeasureRequest& request) {
  Measurements last = io::measurements_from_json(results, kRanksMeasurements);
  if (!earlier) return {.measurements = std::move(last), .only_links = request.only_link};
  Gathered all = *earlier;
  add_links(std::move(last), kRanksMeasurements, all);
  return all;
}

// Writes what is finished, and says where; empty when there is nothing.
std::string kept(const RankJob& job, const std::optional<Gathered>& earlier,
                 const MeasureRequest& request, const CalibrateOptions& options) {
  const auto results = job.results();
  if (!results && !earlier) return "; nothing was finished yet";
  try {
    const std::string path = options.measurements ? *options.measurements : unfinished_path();
    io::write_or_keep(
        path,
        io::to_json((results ? together(earlier, *results, request) : *earlier).measurements));
    const JobProgress& progress = job.progress();
    return "; " + std::to_string(progress.done) + " of " + std::to_string(progress.total) +
           " measurements" + (earlier ? ", and those of the process sets before," : "") +
           " are kept in " + path;
  } catch (const InputError& error) {
    return std::string("; ") + error.what();
  }
}

// Runs a job of ranks to its end.
Gathered measured_by(const JobOptions& start, const std::optional<Gathered>& earlier,
                     const MeasureRequest& request, const CalibrateOptions& options) {
  RankJob job(start);
  try {
    ProgressLine line;
    job.run([&](const JobProgress& progress) {
      line.show(progress.done, progress.total, progress.operation, progress.left);
    });
  } catch (const LinkHung& error) {
    if (!earlier) throw;  // before anything was measured
    throw DeviceError(error.what() + kept(job, earlier, request, options));
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + kept(job, earlier, request, options));
  } catch (const Interrupted& error) {
    throw Interrupted(error.what() + kept(job, earlier, request, options));
  }
  const auto results = job.results();
  if (!results) throw DeviceError("the ranks ended without a result");
  return together(earlier, *results, request);
}

// One process set after the other.
Gathered measured_by_all(const JobOptions& start, const MeasureRequest& request,
                         const CalibrateOptions& options) {
  std::optional<Gathered> gathered;
  for (int i = 0; i < request.processes; ++i)
    gathered = measured_by(start, gathered, request, options);
  return *std::move(gathered);
}

}  // namespace

std::string usual_machine_path(const std::string& name) {
  return io::user_data_file("--output", "machines", name + ".json");
}

std::string usual_measurements_path(const std::string& name) {
  return io::user_data_file("--output", "measurements", name + ".json");
}

std::optional<Gathered> measure_as_rank(const RankPlace& place, const CalibrateOptions& options) {
  Rank rank(place, kProgram);
  const MeasureRequest request = measure_request(options);
  std::optional<Gathered> gathered;
  try {
    if (request.processes > 1 && !rank.has_launcher())
      throw InputError("--processes",
                       "starts process sets of its own, and mpirun, srun or torchrun has started "
                       "this one; run it as often, and give the measurements to --from together");
    Measurements measurements = measured_on(request, rank);
    if (rank.is_first() && !rank.has_launcher())
      gathered = Gathered{.measurements = std::move(measurements), .only_links = request.only_link};
  } catch (const std::exception& error) {
    const bool refused = dynamic_cast<const InputError*>(&error) != nullptr;
    const bool hung = dynamic_cast<const LinkHung*>(&error) != nullptr;
    rank.fail(error.what(), refused ? RankState::refused
                            : hung  ? RankState::link_hung
                                    : RankState::failed);
    if (rank.has_launcher()) std::_Exit(kDeviceExit);  // the launcher says it
    throw;
  }
  rank.finish();
  return gathered;
}

Gathered measure_with_ranks(const CalibrateOptions& options) {
  const MeasureRequest request = measure_request(options);
  if (options.output) {
    io::check_writable("--output", *options.output);
  } else if (!request.only_link) {
    io::check_writable("--output", usual_machine_path(request.backend));
  }
  if (options.measurements) io::check_writable("--measurements", *options.measurements);
  JobOptions start;
  start.ranks = request.ranks;
  start.library = request.library;
  start.transport = request.transport;
  start.channels = request.channels;
  try {
    return measured_by_all(start, request, options);
  } catch (const LinkHung& error) {
    // Another way than the one asked for would be another link.
    if (request.transport != Transport::automatic) throw;
    start.transport = Transport::shared_memory;
    Gathered gathered = measured_by_all(start, request, options);
    gathered.measurements.notes.push_back(
        std::string("measured without P2P, by --transport shm: ") + error.what());
    return gathered;
  }
}

std::string dry_run_text(const CalibrateOptions& options) {
  const MeasureRequest request = measure_request(options);
  const auto supports = [&](const Operation& operation) {
    return backend_supports(request.backend, operation, request.ranks);
  };
  return plan_text(make_plan(request.plan, request.ranks, supports, usual_rates()));
}

}  // namespace ddpx
