// --infer-link: its flags, and the forecast it turns around.
#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/infer.hpp"
#include "predict/measured.hpp"
#include "predict/request.hpp"
#include "predict/request_gpus.hpp"
#include "predict/request_plan.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr const char* kInferFlag = "--infer-link";

int count_of(const Options& options, const StepPair& steps) {
  const std::vector<NodeLayout> gpus = gpus_of(options);
  const int count = gpus.front().gpus();
  const bool one_count = gpus.size() == 1 && count > 1;
  if ((options.gpus || !steps.gpus) && !one_count)
    throw InputError("--gpus", "must be the one count, 2 or more, on which tn was measured");
  if (steps.gpus && options.gpus && *steps.gpus != count) {
    const std::string measured = std::to_string(*steps.gpus);
    throw InputError("--gpus", "is " + std::to_string(count) +
                                   " GPUs, and --infer-link has a step on " + measured +
                                   "; leave it out for " + measured + ", or give the step on " +
                                   std::to_string(count) + " as t" + std::to_string(count) + "=");
  }
  if (options.gpus && gpus.front().nodes > 1)
    throw InputError("--gpus", "'" + shown(*options.gpus) +
                                   "' spreads the GPUs over nodes, and --infer-link finds one "
                                   "link that joins them all; give " +
                                   std::to_string(count) + (steps.gpus ? ", or leave it out" : ""));
  return steps.gpus.value_or(count);
}

Strategy strategy_of(const Options& options) {
  if (options.strategies.empty()) return {};
  const std::string& text = options.strategies.front();
  if (options.strategies.size() > 1)
    throw InputError("--strategy", "'" + shown(options.strategies.back()) +
                                       "' is a second one, and tn was measured with one; leave the "
                                       "other out");
  const Strategy strategy = parse_strategy(text);
  if (!strategy.sync)
    throw InputError("--strategy", "'" + shown(text) +
                                       "' exchanges nothing, from which --infer-link could find a "
                                       "link; leave it out");
  if (strategy.hybrid)
    throw InputError("--strategy", "'" + shown(text) +
                                       "' exchanges over two links, of which --infer-link finds "
                                       "one; time fsdp=block or ddp instead");
  if (strategy.channels)
    throw InputError("--strategy", "'" + shown(text) +
                                       "': channels cannot change what --infer-link finds, the "
                                       "link as it ran; leave them out");
  return strategy;
}

}  // namespace

ForecastDocument infer(const Options& options, const Resolvers& resolvers) {
  check(options);
  const StepPair steps = parse_step_pair(kInferFlag, options.infer_link.value());
  const double parameters = parse_amount("--params", options.params.value());
  if (options.gpu && options.machine)
    throw InputError("--gpu",
                     "and --machine both name the GPU that t1 and tn were measured on; "
                     "give one of them");
  Job job = job_of(options);
  job.gpus = count_of(options, steps);
  job.strategy = strategy_of(options);
  const Machine machine = machine_for(options, resolvers);
  use_any_dtype(job, machine);
  use_delay(job, options);
  Machine known = for_known_step(machine);
  use_spread(known, options);
  if (options.batch) {
    job.batch_per_rank = batch_of(*options.batch);
    if (job.samples_per_micro_batch() < 1)
      throw InputError("--batch", "'" + shown(*options.batch) + "' leaves ranks without a sample");
  } else {
    job.batch_per_rank = job.gpus;  // cancels: t1 is the time of this batch, whatever it was
    if (gives_sample_spread(options) && known.sample_spread > 0)
      throw InputError("--batch", "is missing: the spread of samples settles over a rank's batch");
    known.sample_spread = 0;
  }
  ForecastDocument document;
  document.machine = machine.name;
  document.device = machine.device.name;
  const bool unnamed = !options.machine && !options.gpu;
  if (unnamed)
    document.warnings.push_back(
        "t1 is of your GPU, but copies and optimizer are priced on the memory of machine " +
        machine.name + " (" + machine.device.name + "); name yours by --gpu or --machine");
  if (!options.batch)
    document.warnings.emplace_back(
        "no --batch is given: nothing is taken for samples of unequal work");
  if (job.scaling == Scaling::strong)
    document.warnings.emplace_back(
        "under --scaling strong a rank's share of t1 is taken in proportion to its samples; "
        "smaller batches are not faster in proportion");
  try {
    document.inferred = infer_link(known, job, parameters, steps);
  } catch (const UnmetError& unmet) {
    std::string why = unmet.what();
    if (!options.json) {
      if (unnamed)
        why += "; machine " + machine.name + " is assumed: name yours by --gpu or --machine";
      for (std::size_t i = unnamed ? 1 : 0; i < document.warnings.size(); ++i)
        why += "; " + document.warnings[i];
      throw UnmetError(why);
    }
    document.inferred = no_link(job, parameters, steps, std::move(why));
  }
  document.inferred->batch_given = options.batch.has_value();
  return document;
}

}  // namespace ddpx
