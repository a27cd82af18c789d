#include "predict/infer.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "model/error.hpp"
#include "model/forecast.hpp"
#include "model/quantity.hpp"
#include "predict/link_text.hpp"
#include "predict/measured.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

constexpr double kSlowest = 1e5;  // bytes/s: a modem
constexpr double kFastest = 1e13;
// A communication time below this share of the step is within what two runs of the same step differ
// by.
constexpr double kNoise = 0.02;
// Steps just below and above a bandwidth that differ by more than this share of the step are a
// jump.
constexpr double kJump = 1e-3;

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
  link.latency.value = kInferredLatency;
  link.large_latency.value = kInferredLatency;
  link.bandwidth.value = bandwidth;
  link.channels = kAssumedChannels;
  return link;
}

double speedup_of(const Job& job, const StepPair& steps) {
  return job.samples_per_step() / steps.many.value() /
         (job.one_gpu().samples_per_step() / steps.one.value());
}

std::string problem_of(const StepPair& steps, const Job& job) {
  return "a step of " + time_text(steps.many) + " on " + std::to_string(job.gpus) +
         " GPUs beside " + time_text(steps.one) + " on one ";
}

// "2.00 ms for the framework and 3.10 ms for waiting for the slowest rank"; "" for nothing.
std::string besides_of(const Step& step) {
  std::string text;
  const auto add = [&](Term term, const char* what) {
    if (!(step.term(term) > Seconds{})) return;
    text += (text.empty() ? "" : " and ") + time_text(step.term(term)) + what;
  };
  add(Term::framework, " for the framework");
  add(Term::imbalance, " for waiting for the slowest rank");
  return text;
}

// All that a step takes: the parts add up to it.
std::string parts_of(const Step& step) {
  const auto sum = [&](std::initializer_list<Term> terms) {
    Seconds total{};
    for (Term term : terms) total += step.term(term);
    return total;
  };
  const std::pair<Seconds, const char*> parts[] = {
      {sum({Term::forward, Term::backward, Term::accumulation, Term::contention,
            Term::compression}),
       "compute"},
      {sum({Term::optimizer}), "the optimizer"},
      {sum({Term::copies}), "bucket copies"},
      {sum({Term::exposed_communication}), "the link's latency"},
      {sum({Term::host, Term::loader}), "the host"},
      {sum({Term::framework}), "the framework"},
      {sum({Term::imbalance}), "waiting for the slowest rank"}};
  std::vector<std::string> words;
  for (const auto& [time, what] : parts) {
    if (time > Seconds{}) words.push_back(time_text(time) + " for " + what);
  }
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

// The step over a link of whatever bandwidth.
class Steps {
 public:
  Steps(const Machine& machine, const Job& job, double parameters, const StepPair& steps)
      : machine_(machine),
        job_(job),
        pair_(steps),
        network_(measured_network(machine, job, {parameters, steps.one, job.batch_per_rank},
                                  "--infer-link")) {}

  [[nodiscard]] Step at(BytesPerSecond bandwidth) const {
    const Link link = link_of(bandwidth);
    return StepModel(machine_, link, network_, job_).run();
  }

  // The bandwidth, and the steps just below and just above it, where it lies at a jump.
  struct Found {
    BytesPerSecond bandwidth;
    std::optional<StepJump> jump;
  };

  [[nodiscard]] Found explaining() const {
    double low = std::log(kSlowest);
    double high = std::log(kFastest);
    const auto time_at = [&](double log_bandwidth) {
      return at(BytesPerSecond(std::exp(log_bandwidth))).total();
    };
    const Step free = at(BytesPerSecond(kFastest));
    if (pair_.many <= free.total() * (1 + kNoise)) refuse_free(free);
    if (pair_.many > time_at(low)) {
      throw UnmetError(
          "--infer-link: " + problem_of(pair_, job_) +
          "is slower than any link explains; the fault is elsewhere (data loading, a stuck rank)");
    }
    // The step falls as the bandwidth rises; 44 halvings of 18 e-foldings leave 1e-12.
    for (int i = 0; i < 44; ++i) {
      const double middle = 0.5 * (low + high);
      (time_at(middle) > pair_.many ? low : high) = middle;
    }
    const StepJump beside{time_at(low), time_at(high)};
    if (beside.below - beside.above < pair_.many * kJump)
      return {BytesPerSecond(std::exp(0.5 * (low + high))), std::nullopt};
    const bool nearer_below = beside.below - pair_.many < pair_.many - beside.above;
    return {BytesPerSecond(std::exp(nearer_below ? low : high)), beside};
  }

 private:
  // A step that communication has no part in: what the forecast's own interval allows is one over a
  // fast link, less than that is of another training.
  [[noreturn]] void refuse_free(const Step& free) const {
    const Interval allowed =
        forecast(machine_, link_of(BytesPerSecond(kFastest)), network_, job_).step_time_s;
    const double speedup = speedup_of(job_, pair_);
    // Several micro-batches update less often than the plain steps that they are held against.
    const bool more_than_linear =
        job_.strategy.micro_batches == 1 && speedup > job_.gpus * (1 + kNoise);
    const bool may_wait_less = !more_than_linear && free.term(Term::imbalance) > Seconds{};
    const std::string parts = " (" + parts_of(free) + ")";
    if (pair_.many.value() < allowed.low || more_than_linear) {
      throw UnmetError("--infer-link: no link explains " + problem_of(pair_, job_) + "(" +
                       factor_text(speedup) +
                       " as fast): it is faster than the forecast with free communication, " +
                       time_text(free.total()) + parts + ", 90 % interval from " +
                       time_text(Seconds(allowed.low)) +
                       "; t1, tn, --batch or --scaling are not of the same training" +
                       (may_wait_less ? ", or its ranks and samples differ by less than is taken "
                                        "(--straggler spread=0%)"
                                      : ""));
    }
    throw UnmetError("--infer-link: " + problem_of(pair_, job_) +
                     "shows no communication to infer a link from: with free communication it "
                     "would take " +
                     time_text(free.total()) + parts + "; any fast enough link explains it");
  }

  const Machine& machine_;
  const Job& job_;
  const StepPair& pair_;
  Network network_;
};

// The same with nothing besides the link.
std::optional<BytesPerSecond> explaining_alone(Machine machine, Job job, double parameters,
                                               const StepPair& steps) {
  machine.framework.reset();
  machine.rank_spread = 0;
  machine.sample_spread = 0;
  job.straggler = 0;
  try {
    return Steps(machine, job, parameters, steps).explaining().bandwidth;
  } catch (const UnmetError&) {
    return std::nullopt;  // slower than the slowest link
  }
}

std::string jump_text(const StepJump& jump, Seconds step) {
  return " No bandwidth gives exactly that step, because the forecast jumps there: just below it "
         "is " +
         time_text(jump.below) + ", " + percent_text(jump.below / step - 1) +
         " longer, just above " + time_text(jump.above) + ", " +
         percent_text(1 - jump.above / step) + " shorter.";
}

std::string reading_text(const InferredLink& found, const std::string& besides) {
  std::string text = std::to_string(found.job.gpus) + " GPUs train " + factor_text(found.speedup) +
                     " as fast as one. ";
  if (!besides.empty()) text += "Of the step the forecast takes " + besides + ". ";
  text += "For " + amount_text(found.parameters) + " parameters a link of " +
          rate_text(found.bus_bandwidth) + " all-reduce bus bandwidth and " +
          time_text(kInferredLatency) + " latency (assumed) explains " +
          (besides.empty() ? "it, if nothing but the link is at fault: "
                           : "the rest, if nothing else is at fault: ") +
          std::string(reading_of(found.bus_bandwidth)) + ".";
  if (found.jump) text += jump_text(*found.jump, found.step);
  if (found.link_alone)
    text += " If the link took all of it, " + rate_text(*found.link_alone) + " would.";
  return text;
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
  if (second.find(",t") != std::string_view::npos)
    throw InputError(place, "'" + shown(text) +
                                "' gives more than two steps; accepted: t1=TIME and one more, as "
                                "t1=120ms,t16=180ms (--diagnose takes several)");
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

InferredLink no_link(const Job& job, double parameters, const StepPair& steps, std::string why) {
  InferredLink result;
  result.parameters = parameters;
  result.job = job;
  result.one_gpu_step = steps.one;
  result.step = steps.many;
  result.speedup = speedup_of(job, steps);
  result.reading = std::move(why);
  result.explained = false;
  return result;
}

InferredLink infer_link(const Machine& machine, const Job& job, double parameters,
                        const StepPair& steps) {
  const Steps model(machine, job, parameters, steps);
  InferredLink result = no_link(job, parameters, steps, "");
  result.explained = true;
  const Steps::Found found = model.explaining();
  result.bus_bandwidth = found.bandwidth;
  result.latency = kInferredLatency;
  result.jump = found.jump;
  const Step step = model.at(result.bus_bandwidth);
  result.framework = step.term(Term::framework);
  result.slowest_rank = step.term(Term::imbalance);
  const std::string besides = besides_of(step);
  if (!besides.empty()) result.link_alone = explaining_alone(machine, job, parameters, steps);
  result.reading = reading_text(result, besides);
  return result;
}

}  // namespace ddpx
