#include "predict/infer.hpp"

#include <array>
#include <cmath>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr double kSlowest = 1e5;  // bytes/s: a modem
constexpr double kFastest = 1e13;
// A latency any link has; the bandwidth of a slow step does not depend on it.
constexpr Seconds kLatency{10e-6};
// A communication time below this share of the step is within what two runs of the same step differ
// by.
constexpr double kNoise = 0.02;

// What all-reduce reaches on links of each class, two ranks (shipped table of interconnects and the
// measurements behind it).
struct Class {
  BytesPerSecond below;
  const char* reading;
};
constexpr std::array<Class, 7> kClasses{{
    {BytesPerSecond(0.03e9),
     "below any working PCIe link and below 1 Gb/s Ethernet: no working link explains this; look "
     "at "
     "the host, the loader or the placement of the ranks"},
    {kSlowestWorkingLink,
     "below any working PCIe link: look for a fault (peer-to-peer blocked by IOMMU or ACS) or a "
     "network of 1 Gb/s or less"},
    {BytesPerSecond(1.3e9), "like TCP over a 10 Gb/s network; no sound PCIe link is this slow"},
    {BytesPerSecond(4e9), "like a 25 Gb/s network, or PCIe 3 through host memory"},
    {BytesPerSecond(13e9), "like PCIe 3 or 4, or a 100 Gb/s network"},
    {BytesPerSecond(50e9), "like PCIe 4 or 5, InfiniBand, or an NVLink bridge"},
    {BytesPerSecond(kFastest * 2), "like NVLink"},
}};

Link link_of(BytesPerSecond bandwidth) {
  Link link;
  link.name = "inferred";
  link.topology = Topology::network;  // a figure of the count it was inferred on
  link.latency.value = kLatency;
  link.large_latency.value = kLatency;
  link.bandwidth.value = bandwidth;
  link.channels = kAssumedChannels;
  return link;
}

std::string problem_of(const StepPair& steps, const Job& job) {
  return "a step of " + time_text(steps.many) + " on " + std::to_string(job.gpus) +
         " GPUs beside " + time_text(steps.one) + " on one ";
}

}  // namespace

std::string_view reading_of(BytesPerSecond bandwidth) {
  for (const Class& c : kClasses) {
    if (bandwidth < c.below) return c.reading;
  }
  return kClasses.back().reading;
}

StepPair parse_step_pair(std::string_view place, std::string_view text) {
  const auto reject = [&] {
    throw InputError(place,
                     "'" + shown(text) +
                         "' is no pair of steps; accepted: t1=TIME,tn=TIME (one GPU, N "
                         "GPUs), as t1=120ms,tn=180ms with --gpus 16, or t1=120ms,t16=180ms");
  };
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) reject();
  const std::string_view first = text.substr(0, comma);
  const std::string_view second = text.substr(comma + 1);
  const std::size_t equals = second.find('=');
  if (!first.starts_with("t1=") || !second.starts_with('t') || equals == std::string_view::npos)
    reject();
  const std::string_view count = second.substr(1, equals - 1);
  StepPair pair{parse_time(place, first.substr(3)), parse_time(place, second.substr(equals + 1))};
  if (count == "n") return pair;
  if (count.empty() || count.find_first_not_of("0123456789") != std::string_view::npos) reject();
  constexpr int kMostGpus = 1 << 20;
  pair.gpus = parse_count(place, count, 2, kMostGpus);
  return pair;
}

InferredLink infer_link(const Machine& machine, const Job& job, double parameters,
                        const StepPair& steps) {
  const Network network =
      measured_network(machine, job, {parameters, steps.one, job.batch_per_rank}, "--infer-link");
  const auto step_at = [&](double log_bandwidth) {
    const Link link = link_of(BytesPerSecond(std::exp(log_bandwidth)));
    return StepModel(machine, link, network, job).run().total().value();
  };
  double low = std::log(kSlowest);
  double high = std::log(kFastest);
  if (steps.many.value() <= step_at(high) * (1 + kNoise)) {
    throw UnmetError(
        "--infer-link: " + problem_of(steps, job) +
        "shows no communication to infer a link from: with free communication it would take " +
        time_text(Seconds(step_at(high))) + "; any fast enough link explains it");
  }
  if (steps.many.value() > step_at(low)) {
    throw UnmetError(
        "--infer-link: " + problem_of(steps, job) +
        "is slower than any link explains; the fault is elsewhere (data loading, a stuck rank)");
  }
  // The step falls as the bandwidth rises; 44 halvings of 18 e-foldings leave 1e-12.
  for (int i = 0; i < 44; ++i) {
    const double middle = 0.5 * (low + high);
    (step_at(middle) > steps.many.value() ? low : high) = middle;
  }
  InferredLink result;
  result.parameters = parameters;
  result.job = job;
  result.one_gpu_step = steps.one;
  result.step = steps.many;
  result.speedup = job.samples_per_step() / steps.many.value() /
                   (job.one_gpu().samples_per_step() / steps.one.value());
  result.bus_bandwidth = BytesPerSecond(std::exp(0.5 * (low + high)));
  result.reading = std::to_string(job.gpus) + " GPUs train " + factor_text(result.speedup) +
                   " as fast as one. For " + amount_text(parameters) + " parameters a link of " +
                   rate_text(result.bus_bandwidth) +
                   " all-reduce bus bandwidth explains it, if nothing but the link is at fault: " +
                   std::string(reading_of(result.bus_bandwidth)) + ".";
  return result;
}

}  // namespace ddpx
