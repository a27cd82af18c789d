#include "predict/request_measured.hpp"

#include <cmath>

#include "model/error.hpp"
#include "model/gpu_type.hpp"
#include "model/quantity.hpp"
#include "predict/measured.hpp"
#include "predict/request_decisions.hpp"
#include "predict/request_gpus.hpp"
#include "predict/request_plan.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr const char* kStepTimeFlag = "--step-time";
// Repeats of one step in fresh processes.
constexpr double kStepError = 0.02;

// A CPU is told by that alone: captures name its threads, machines its cores.
bool same_device(const std::string& captured, const Device& device) {
  if (captured.starts_with("CPU")) return device.multiprocessors == 0;
  Device other;
  other.name = captured;
  const GpuType* type = gpu_type_of(other);
  return type != nullptr ? type == gpu_type_of(device) : captured == device.name;
}

struct GivenSteps {
  Seconds whole{};
  std::optional<Seconds> share{};  // at one rank's share of the batch
};

// Under strong scaling the batch of a rank; else nullopt.
std::optional<double> share_of(const Query& query, const Options& options) {
  if (query.job.scaling != Scaling::strong) return std::nullopt;
  const std::string how = "under --scaling strong, a step at each rank's share of the batch";
  if (query.gpus.size() != 1 || query.gpus.front().gpus() < 2)
    throw InputError("--gpus", "must be one count, 2 or more, with --params: it takes, " + how);
  if (options.sweep || !options.requirements.empty())
    throw InputError(options.sweep ? "--sweep" : "--require",
                     "varies the batch of which --params knows, " + how +
                         " only; name a --network, or leave out --scaling strong");
  const double share = query.batches.front() / query.gpus.front().gpus();
  if (share < 1)
    throw InputError("--batch", "'" + shown(*options.batch) + "' leaves ranks without a sample");
  return share;
}

GivenSteps steps_of(const Options& options, std::optional<double> share) {
  const std::string& text = options.step_time.value();
  const std::vector<std::string> words = parse_list(kStepTimeFlag, text);
  if (words.size() > (share ? 2U : 1U)) {
    throw InputError(kStepTimeFlag, "'" + shown(text) + "' gives " + std::to_string(words.size()) +
                                        " steps; accepted: " +
                                        (share ? "two, as 40ms,12ms"
                                               : "one, as 40ms (two with --scaling "
                                                 "strong)"));
  }
  GivenSteps steps{parse_time(kStepTimeFlag, words.front()), std::nullopt};
  if (!share) return steps;
  if (words.size() == 1) {
    throw InputError(kStepTimeFlag, "needs the one-GPU step at a rank's share of the batch too, " +
                                        count_text(*share) + " samples, as " + shown(text) +
                                        ",TIME: smaller batches are not faster in proportion");
  }
  steps.share = parse_time(kStepTimeFlag, words.back());
  if (*steps.share > steps.whole)
    throw InputError(kStepTimeFlag, "'" + shown(text) +
                                        "' has the smaller batch slower than the larger; "
                                        "accepted: the whole batch's step, then the share's");
  return steps;
}

}  // namespace

NetworkSeries one_network(Network network) {
  NetworkSeries series;
  series.name = network.name;
  series.at = [network = std::move(network)](double) { return network; };
  return series;
}

void use_measured_model(Query& query, const Options& options, const Resolvers& resolvers) {
  const std::optional<double> share = share_of(query, options);
  GivenSteps steps = steps_of(options, share);
  const Seconds given = steps.whole;
  use_any_dtype(query.job, query.machine);
  if (options.gpu && options.machine) {
    // Timed on the machine's GPU, asked for on the other.
    const GpuType* from = gpu_type_of(resolvers.machine(options.machine).device);
    const double ratio = step_ratio(*from, gpu_named(*options.gpu), query.job.dtype);
    steps.whole *= ratio;
    if (steps.share) *steps.share *= ratio;
    query.warnings.push_back("--step-time is of machine " + *options.machine + "; carried to a " +
                             query.machine.device.name + " it is " + time_text(steps.whole) +
                             ", one standard error " + percent_text(kGpuCarryError));
  }
  query.machine = for_known_step(std::move(query.machine));
  use_spread(query.machine, options);
  const double batch = query.batches.front();
  const MeasuredModel model{parse_amount("--params", options.params.value()),
                            steps.share.value_or(steps.whole), share.value_or(batch)};
  query.networks = {one_network(measured_network(query.machine, query.job, model))};
  const Network network = query.networks.front().at(0);
  if (!share) query.networks.front().size = size_of(query.machine, query.job, model, given.value());
  if (share) {
    query.machine.one_gpu_steps.push_back({network.name,
                                           batch,
                                           query.job.dtype,
                                           query.job.optimizer,
                                           query.job.engine,
                                           {steps.whole, kStepError, kStepTimeFlag}});
  }
  if (options.machine || options.gpu) return;
  query.warnings.push_back(
      "--step-time is of your GPU, but copies and optimizer are priced on the memory of machine " +
      query.machine.name + " (" + query.machine.device.name + "); name yours by --machine");
}

void warn_of_captures(Query& query) {
  for (const NetworkSeries& series : query.networks) {
    if (!series.sweep.empty()) continue;
    const Network network = series.at(0);
    if (!network.captured || network.captured->device.empty() ||
        same_device(network.captured->device, query.machine.device))
      continue;
    query.warnings.push_back(
        "network " + network.name + " was captured on " + network.captured->device +
        ": its kernels take what they took there, "
        "and only the link and the rest are those of machine " +
        query.machine.name + " (" + query.machine.device.name + "); capture it on such a device");
  }
}

}  // namespace ddpx
