#include "model/baselines.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "model/error.hpp"
#include "model/forecast.hpp"

namespace ddpx {
namespace {

constexpr std::array<std::string_view, kBaselines.size()> kBaselineNames{"B0", "B1", "B2", "B3",
                                                                         "B4", "B5", "B6"};
constexpr std::array<std::string_view, kBaselines.size()> kBaselineTitles{
    "N times the throughput",
    "ring time, max(compute, communication)",
    "compute + communication, no overlap",
    "event queue of buckets, no copies, latency or contention",
    "event queue, compute slowed by a constant while a collective runs",
    "Amdahl's law fitted on other rows",
    "universal scalability law fitted on other counts"};

// What one rank computes in a step. Where the host bounds the step a stopwatch cannot tell: every
// part is stretched alike.
struct Compute {
  double accumulation = 0;
  double forward = 0;
  double backward = 0;
  double optimizer = 0;

  [[nodiscard]] double total() const { return accumulation + forward + backward + optimizer; }
};

// K micro-batches on one GPU.
Compute compute_of(const Machine& machine, const Network& network, const Job& job) {
  Job alone = job;
  alone.batch_per_rank = job.samples_per_micro_batch();
  alone.scaling = Scaling::weak;
  alone.gpus = 1;
  alone.strategy = Strategy{};
  alone.strategy.micro_batches = job.strategy.micro_batches;
  const Link none;
  const Step step = StepModel(machine, none, network, alone).run();
  const double device = (step.total() - step.term(Term::host)).value();
  const double stretch = device > 0 ? step.total().value() / device : 1;
  const auto part = [&](Term term) { return step.term(term).value() * stretch; };
  return {part(Term::accumulation), part(Term::forward), part(Term::backward),
          part(Term::optimizer)};
}

bool shares(const Job& job) { return job.gpus > 1 && job.strategy.sync; }
bool sharded(const Job& job) { return job.strategy.sharding != Sharding::none; }

// Seconds per gradient byte by the ring's volume and the bus bandwidth alone.
double seconds_per_byte(const Link& link, const Job& job) {
  if (!shares(job)) return 0;
  const double bandwidth = link.bus_bandwidth().value();
  if (!(bandwidth > 0)) {
    throw InputError("link " + link.name, "has no all-reduce bandwidth for the baselines");
  }
  const double wire = job.strategy.compression ? element_bytes(*job.strategy.compression) : 4.0;
  return wire / 4.0 * bus_factor(Collective::all_reduce, job.gpus) / bandwidth;
}

// All-gather and reduce-scatter together move an all-reduce's volume; FSDP does so per micro-batch.
double communication(const Link& link, const Network& network, const Job& job) {
  const double times = sharded(job) ? job.strategy.micro_batches : 1.0;
  return times * 4.0 * network.parameters() * seconds_per_byte(link, job);
}

double event_queue(const Link& link, const Network& network, const Job& job, const Compute& compute,
                   double slowdown) {
  const double per_byte = seconds_per_byte(link, job);
  std::vector<Bytes> arrival;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    for (double elements : layer->tensors) arrival.emplace_back(4.0 * elements);
  }
  std::vector<Bucket> buckets;
  assign_buckets(arrival, job.strategy.buckets, buckets);
  const Seconds per_layer(compute.backward / static_cast<double>(network.layers.size()));
  double now = compute.accumulation + compute.forward;
  double free = 0;  // when the link is
  std::size_t bucket = 0;
  std::size_t tensor = 0;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    now += beside_collective(per_layer, slowdown, Seconds(free - now)).value();
    tensor += layer->tensors.size();
    for (; bucket < buckets.size() && buckets[bucket].end <= tensor; ++bucket) {
      free = std::max(now, free) + buckets[bucket].bytes.value() * per_byte;
    }
  }
  return std::max(now, free) + compute.optimizer;
}

}  // namespace

std::string_view name(Baseline baseline) {
  return kBaselineNames[static_cast<std::size_t>(baseline)];
}
std::string_view title(Baseline baseline) {
  return kBaselineTitles[static_cast<std::size_t>(baseline)];
}

Seconds baseline_step(Baseline baseline, const Machine& machine, const Link& link,
                      const Network& network, const Job& job, double overlap_slowdown) {
  check(job);
  if (baseline == Baseline::b5 || baseline == Baseline::b6) {
    throw InputError("baseline " + std::string(name(baseline)),
                     "is fitted on measured speedups and has no step time of its own");
  }
  const Forecast one = point_forecast(machine, link, network, job);
  if (baseline == Baseline::b0) {
    const double per_gpu = job.samples_per_step() / job.gpus;
    return Seconds(one.one_gpu_step_s * per_gpu / job.one_gpu().samples_per_step());
  }
  const Compute compute = compute_of(machine, network, job);
  const double exchange = communication(link, network, job);
  if (baseline == Baseline::b1) return Seconds(std::max(compute.total(), exchange));
  // One FSDP unit has no neighbour to overlap with.
  if (baseline == Baseline::b2 || !shares(job) || sharded(job)) {
    return Seconds(compute.total() + exchange);
  }
  const double slowdown = baseline == Baseline::b4 ? overlap_slowdown : 1.0;
  return Seconds(event_queue(link, network, job, compute, slowdown));
}

}  // namespace ddpx
