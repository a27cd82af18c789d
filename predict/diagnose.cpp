#include "predict/diagnose.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"
#include "predict/diagnose_notes.hpp"
#include "predict/diagnose_text.hpp"
#include "predict/grounds.hpp"
#include "predict/infer.hpp"
#include "predict/measured.hpp"
#include "predict/measured_sizes.hpp"
#include "predict/request_diagnose.hpp"
#include "predict/request_gpus.hpp"
#include "predict/request_plan.hpp"
#include "predict/setting.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr Bytes kSmallest{4};

struct Case {
  const Options& options;
  const Resolvers& resolvers;
  Machine machine;
  Job job;
  MeasuredRun run;
  std::optional<double> parameters;
};

constexpr double kReading = 1.05;  // two readings of one thing agree to that

// A step that was taken was fed.
void check_fed(const std::string& rate, Seconds fed, const StepPoint& step) {
  if (fed <= step.time * kReading) return;
  throw InputError("--loader-rate", "'" + shown(rate) + "' takes " + time_text(fed) +
                                        " for the samples of a step, more than the whole step on " +
                                        std::to_string(step.gpus) + " GPUs, " +
                                        time_text(step.time) +
                                        "; give what the loaders deliver when nothing else waits");
}

// No part of a step takes longer than the step.
void check_times(std::string_view flag, const std::vector<Seconds>& times, const StepPoint& step) {
  for (const Seconds time : times) {
    if (time > step.time * kReading) {
      throw InputError(flag, time_text(time) + " is longer than the whole step on " +
                                 std::to_string(step.gpus) + " GPUs, " + time_text(step.time) +
                                 "; give the times of one such step");
    }
  }
}

// How the GPUs of a count are spread over nodes: as --gpus says, else one node.
NodeLayout layout_of(const Options& options, int gpus) {
  if (!options.gpus) return {1, gpus};
  for (const NodeLayout& layout : gpus_of(options)) {
    if (layout.gpus() == gpus) return layout;
  }
  throw InputError("--gpus", "'" + shown(*options.gpus) + "' does not say how the " +
                                 std::to_string(gpus) + " GPUs that are judged are spread; add " +
                                 std::to_string(gpus) + ", or NxM of as many");
}

Link link_on(const Case& c, int gpus, DiagnosedRun& result) {
  const NodeLayout layout = layout_of(c.options, gpus);
  const Query query = links_joining(layout, c.options, c.machine, c.resolvers);
  result.warnings = query.warnings;
  if (auto nics = assumed_nics(query)) result.warnings.push_back(std::move(*nics));
  return link_of(query, query.links.front(), layout);
}

// Of a log of small messages alone no exchange follows.
void check_sizes_on(const Case& c, int gpus, std::span<const Exchange> exchanges) {
  const NodeLayout layout = layout_of(c.options, gpus);
  const Query query = links_joining(layout, c.options, c.machine, c.resolvers);
  check_sizes(query, query.links.front(), layout, exchanges);
}

std::string link_name_of(const Options& options) {
  std::string name = options.links.empty() ? "" : options.links.front();
  if (options.inter_link) name += (name.empty() ? "" : "+") + *options.inter_link;
  return name;
}

Job job_on(const Case& c, int gpus) {
  Job job = c.job;
  job.gpus = gpus;
  // Without --batch it cancels: the steps are of the same batch, whatever it was.
  if (!c.options.batch) job.batch_per_rank = gpus;
  return job;
}

ExchangeForecast exchange_of(const Case& c, const Link& link, const StepPoint& one, int gpus) {
  Job job = job_on(c, gpus);
  job.loader.reset();  // which changes nothing of what the link takes
  const Network network = measured_network(
      c.machine, job, {*c.parameters, one.time, job.one_gpu().samples_per_step()}, "--diagnose");
  const Forecast usual = forecast(for_known_step(c.machine), link, network, job);
  const StepModel model(c.machine, link, network, job);
  check_sizes_on(c, gpus, model.exchanges());
  const Step step = model.run();
  const Step alone = StepModel(c.machine, link, network, job.one_gpu()).run();
  const double work = job.samples_per_step() / job.one_gpu().samples_per_step() / gpus;
  const Seconds share = (alone.total() - alone.term(Term::host)) * work;
  ExchangeForecast exchange;
  exchange.exposed = std::max(Seconds{}, step.total() - step.term(Term::host) - share);
  // Its interval without the host, whose time is no evidence of communication.
  const double up = usual.step_time_s.high / usual.step_time_s.value;
  exchange.high = std::max(Seconds{}, (step.total() - step.term(Term::host)) * up - share);
  Seconds all{};
  Seconds latency{};
  for (const CollectiveRow& row : explain(c.machine, link, network, job).collectives) {
    const Seconds smallest = price(link, {row.kind, DType::fp32, kSmallest, gpus}).time;
    all += row.time;
    latency += std::min(row.time, smallest);
  }
  if (all.value() > 0) exchange.latency_share = latency / all;
  return exchange;
}

std::optional<BytesPerSecond> implied_by(const Case& c, const StepPoint& one,
                                         const StepPoint& many) {
  try {
    return infer_link(c.machine, job_on(c, many.gpus), *c.parameters, {one.time, many.time})
        .bus_bandwidth;
  } catch (const UnmetError&) {
    return std::nullopt;  // no slower than free communication, or slower than any link
  }
}

// A step on one GPU holds its update of the parameters.
void check_update(const Case& c, const StepPoint& one) {
  static_cast<void>(measured_network(
      c.machine, job_on(c, 1), {*c.parameters, one.time, 1}, "--diagnose",
      c.run.by_rate ? "the --batch that the rates are of" : "the time of a whole step"));
}

std::vector<MeasuredSpeedup> speedups(const Case& c) {
  const StepPoint& one = c.run.points.front();
  std::vector<MeasuredSpeedup> result;
  for (const StepPoint& point : c.run.points) {
    const Job job = job_on(c, point.gpus);
    const double samples = job.samples_per_step() / job.one_gpu().samples_per_step();
    result.push_back(
        {static_cast<double>(point.gpus), point.gpus == 1 ? 1 : samples * (one.time / point.time)});
  }
  return result;
}

// A small collective that takes long in a trace waits for a rank that comes late.
DiagnosedRun diagnose_message(const Case& c) {
  const std::vector<NodeLayout> layouts = gpus_of(c.options);
  if (!names_link(c.options) || !c.options.gpus || layouts.size() != 1 ||
      layouts.front().gpus() < 2)
    throw InputError("--diagnose",
                     "message= needs --link and the one count of --gpus, to forecast "
                     "what the collective takes");
  const int gpus = layouts.front().gpus();
  DiagnosedRun result;
  Exchange message;
  message.message = *c.run.message;
  check_sizes_on(c, gpus, {&message, 1});
  const Seconds alone =
      price(link_on(c, gpus, result), {Collective::all_reduce, DType::fp32, *c.run.message, gpus})
          .time;
  // A curve is known to a third of itself, a unit error is far outside.
  if (*c.run.took * 3 < alone)
    throw InputError("--diagnose", "took=" + time_text(*c.run.took) + " is faster than the " +
                                       time_text(alone) + " that an all-reduce of " +
                                       size_text(*c.run.message) + " takes on " +
                                       std::to_string(gpus) +
                                       " ranks over this link; check its unit, or name the link");
  result.judged = {gpus, *c.run.took, {}, {}};
  const Seconds wait = std::max(Seconds{}, *c.run.took - alone);
  result.diagnosis.excess = wait;
  result.diagnosis.findings = {{Cause::slow_rank, wait, std::nullopt}};
  const bool waits = wait > *c.run.took * 0.5;
  result.diagnosis.verdict = waits ? Cause::slow_rank : Cause::none;
  result.verdict = "An all-reduce of " + size_text(*c.run.message) + " on " + std::to_string(gpus) +
                   " ranks takes " + time_text(alone) + " over this link and " +
                   time_text(*c.run.took) + " in the run: " +
                   (waits ? "the rest is waiting for a rank that comes late, not the link."
                          : "it is the transfer.");
  result.next = waits
                    ? "each rank's compute before the exchange (--rank-compute) names the late one"
                    : "the exchange of the whole step: t1=, tN= with --params";
  return result;
}

DiagnosedRun diagnose_steps(const Case& c) {
  DiagnosedRun result;
  result.points = c.run.points;
  result.implied.resize(result.points.size());
  result.each.resize(result.points.size());
  result.judged = result.points.back();
  Observation observation;
  observation.ranks = c.run.ranks;
  const StepPoint* one = result.points.front().gpus == 1 ? &result.points.front() : nullptr;
  if (one != nullptr) {
    const std::vector<MeasuredSpeedup> measured = speedups(c);
    for (std::size_t i = 0; i < measured.size(); ++i)
      result.each[i] = measured[i].speedup / measured[i].gpus;
    result.flags = flag_points(measured);
    for (const StepPoint& point : result.points) {
      const bool flagged =
          std::any_of(result.flags.begin(), result.flags.end(),
                      [&](const PointFlag& flag) { return flag.gpus == point.gpus; });
      if (!flagged && point.gpus > 1) result.judged = point;
    }
    observation.one = *one;
    if (c.parameters) check_update(c, *one);
    for (std::size_t i = 1; c.parameters && i < result.points.size(); ++i)
      result.implied[i] = implied_by(c, *one, result.points[i]);
    if (std::any_of(result.implied.begin(), result.implied.end(),
                    [](const auto& link) { return link.has_value(); }))
      result.assumed_latency = kInferredLatency;
  }
  const int gpus = result.judged.gpus;
  if (names_link(c.options)) {
    const BytesPerSecond named = link_on(c, gpus, result).bus_bandwidth();
    if (named.value() > 0) result.named = named;
  }
  const Job job = job_on(c, gpus);
  observation.many = result.judged;
  observation.work = job.samples_per_step() / job.one_gpu().samples_per_step() / gpus;
  if (job.loader) {
    observation.fed = Seconds(job.samples_per_step() / job.loader->rate(gpus));
    check_fed(*c.options.loader_rate, *observation.fed, result.judged);
  }
  if (c.parameters && one != nullptr && names_link(c.options))
    observation.exchange = exchange_of(c, link_on(c, gpus, result), *one, gpus);
  check_times("--rank-compute", observation.ranks.compute, result.judged);
  check_times("--rank-data", observation.ranks.data, result.judged);
  check_times("--rank-wall", observation.ranks.wall, result.judged);
  result.data_by_rank = observation.ranks.data.size() > 1;
  result.diagnosis = diagnose(observation);
  const DiagnosisWords words =
      diagnosis_words(result, link_name_of(c.options), c.parameters.value_or(0));
  result.verdict = words.verdict;
  result.next = words.next;
  result.notes = c.run.notes;
  add_notes(c.run, result);
  return result;
}

// A network counts by its parameters: its time is the measured one.
std::optional<double> parameters_of(const Options& options, const Resolvers& resolvers) {
  if (options.params) return parse_amount("--params", *options.params);
  if (options.networks.empty()) return std::nullopt;
  const std::string& text = options.networks.front();
  return (is_file(text) ? resolvers.network_file(text) : network_from(text)).parameters();
}

}  // namespace

ForecastDocument diagnose(const Options& options, const Resolvers& resolvers) {
  check(options);
  // Steps and waits are held against no machine but for what the exchange takes.
  const bool needs_machine = options.params || !options.networks.empty() || names_link(options) ||
                             options.machine || options.gpu;
  Case c{options,         resolvers, needs_machine ? machine_for(options, resolvers) : Machine{},
         job_of(options), {},        std::nullopt};
  use_any_dtype(c.job, c.machine);
  if (!options.strategies.empty()) c.job.strategy = parse_strategy(options.strategies.front());
  if (options.batch) c.job.batch_per_rank = parse_amount("--batch", *options.batch);
  if (options.loader_rate) c.job.loader = loader_of(*options.loader_rate);
  c.parameters = parameters_of(options, resolvers);
  c.run = measured_run(options, resolvers, c.job);
  check_diagnosis(options, c.run);
  ForecastDocument document;
  document.machine = c.machine.name;
  document.device = c.machine.device.name;
  document.diagnosed = c.run.points.empty() ? diagnose_message(c) : diagnose_steps(c);
  document.warnings = document.diagnosed->warnings;
  return document;
}

}  // namespace ddpx
