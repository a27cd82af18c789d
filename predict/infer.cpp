#include "predict/infer.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "model/error.hpp"
#include "model/forecast.hpp"
#include "model/quantity.hpp"
#include "predict/gpu_counts.hpp"
#include "predict/infer_text.hpp"
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
    if (const Seconds slowest = time_at(low); pair_.many > slowest) {
      throw UnmetError("--infer-link: " + problem_of(pair_, job_) +
                       "is slower than any link explains: over one of " +
                       rate_text(BytesPerSecond(kSlowest)) + " it would take " +
                       time_text(slowest) + ", with free communication " + time_text(free.total()) +
                       " (" + parts_of(free) +
                       "); the fault is elsewhere (data loading, a stuck rank); " +
                       grounds_of(machine_, job_, free));
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
    const std::string grounds = "; " + grounds_of(machine_, job_, free);
    if (pair_.many.value() < allowed.low || more_than_linear) {
      throw UnmetError("--infer-link: no link explains " + problem_of(pair_, job_) + "(" +
                       factor_text(speedup) +
                       " as fast): it is faster than the forecast with free communication, " +
                       time_text(free.total()) + parts + ", 90 % interval from " +
                       time_text(Seconds(allowed.low)) +
                       "; t1, tn, --batch or --scaling are not of the same training" +
                       (may_wait_less ? ", or its ranks and samples differ by less than is taken "
                                        "(--straggler spread=0%)"
                                      : "") +
                       grounds);
    }
    if (const Seconds left = pair_.many - free.total(); left > Seconds{}) {
      throw UnmetError("--infer-link: " + problem_of(pair_, job_) + "leaves " + time_text(left) +
                       " for the link, too little to infer one from: with free communication it "
                       "would take " +
                       time_text(free.total()) + parts + ", and two runs of one step differ by " +
                       percent_text(kNoise) + "; any fast enough link explains it" + grounds);
    }
    throw UnmetError("--infer-link: " + problem_of(pair_, job_) +
                     "shows no communication to infer a link from: with free communication it "
                     "would take " +
                     time_text(free.total()) + parts + "; any fast enough link explains it" +
                     grounds);
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

}  // namespace

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
