#include "predict/request_diagnose.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/request_gpus.hpp"

namespace ddpx {
namespace {

constexpr const char* kFlag = "--diagnose";
constexpr int kMostGpus = 1 << 20;
constexpr std::size_t kMostRanks = 1 << 16;

[[noreturn]] void reject(std::string_view word, std::string_view problem) {
  throw InputError(kFlag, "'" + shown(word) + "' " + std::string(problem) +
                              "; accepted: tN=TIME or rN=SAMPLES/S (N: GPUs), busyN=PERCENT, "
                              "dataN=TIME, message=SIZE with took=TIME, as t1=120ms,t4=180ms");
}

struct Word {
  std::string kind;  // "t", "busy", "message"
  int gpus = 0;      // 0: of no count
  std::string value;
};

// A step of a network, whatever the machine.
Seconds time_of(std::string_view flag, const std::string& text) {
  constexpr Seconds kLeast{1e-9};
  constexpr Seconds kMost{1e6};
  const Seconds time = parse_time(flag, text);
  if (time < kLeast || time > kMost)
    throw InputError(flag, "'" + shown(text) + "' is out of range; accepted: from 1ns to 1e6s");
  return time;
}

// "tn" is the one count of --gpus.
Word word_of(const std::string& text, const Options& options) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) reject(text, "gives no value");
  const std::string key = text.substr(0, equals);
  Word word{key, 0, text.substr(equals + 1)};
  if (key == "message" || key == "took") return word;
  std::size_t digits = key.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(key[digits - 1])) != 0) --digits;
  word.kind = key.substr(0, digits);
  if (digits == key.size() && key.ends_with('n') && key.size() > 1) {
    const std::vector<NodeLayout> layouts = gpus_of(options);
    if (!options.gpus || layouts.size() != 1)
      reject(text, "needs --gpus, the one count n stands for");
    word.kind = key.substr(0, key.size() - 1);
    word.gpus = layouts.front().gpus();
  } else if (digits < key.size()) {
    word.gpus = parse_count(kFlag, key.substr(digits), 1, kMostGpus);
  }
  for (const char* kind : {"t", "r", "busy", "data"}) {
    if (word.kind == kind && word.gpus > 0) return word;
  }
  reject(text, "is not known");
}

std::vector<Seconds> times_of(const char* flag, const std::optional<std::string>& text,
                              int most_gpus) {
  std::vector<Seconds> times;
  if (!text) return times;
  for (const std::string& word : parse_list(flag, *text)) times.push_back(time_of(flag, word));
  if (times.size() < 2 || times.size() > kMostRanks ||
      (most_gpus > 1 && times.size() != static_cast<std::size_t>(most_gpus))) {
    throw InputError(flag, "gives " + std::to_string(times.size()) + " times; accepted: one for " +
                               "each rank of the largest count of --diagnose" +
                               (most_gpus > 1 ? ", " + std::to_string(most_gpus) : ", 2 or more"));
  }
  return times;
}

Seconds step_of(const Word& word, const Options& options, Job job) {
  if (word.kind == "t") return time_of(kFlag, word.value);
  if (!options.batch)
    throw InputError(kFlag,
                     "rN= is samples per second and needs --batch, the samples of a step on "
                     "each GPU; or give the step's time as tN=");
  job.gpus = word.gpus;
  const double samples = word.gpus == 1 ? job.one_gpu().samples_per_step() : job.samples_per_step();
  const Seconds time(samples / parse_amount(kFlag, word.value));
  if (!(time >= Seconds(1e-9)) || time > Seconds(1e6))
    throw InputError(kFlag, "'" + shown(word.value) +
                                "' samples per second make no step from 1ns to 1e6s; give the rate "
                                "of all GPUs together");
  return time;
}

void add(std::map<int, StepPoint>& points, const Word& word, const Options& options,
         const Job& job) {
  StepPoint& point = points[word.gpus];
  point.gpus = word.gpus;
  const auto once = [&](bool given) {
    if (given)
      throw InputError(kFlag, "gives " + word.kind + " of " + std::to_string(word.gpus) +
                                  " GPUs twice; leave one out");
  };
  if (word.kind == "busy") {
    once(point.busy.has_value());
    point.busy = parse_percent(kFlag, word.value, 1);
  } else if (word.kind == "data") {
    once(point.data.has_value());
    point.data = time_of(kFlag, word.value);
  } else {
    once(point.time.value() > 0);
    point.time = step_of(word, options, job);
  }
}

}  // namespace

MeasuredRun measured_run(const Options& options, Job job) {
  MeasuredRun run;
  std::map<int, StepPoint> points;
  for (const std::string& text : parse_list(kFlag, options.diagnose.value())) {
    const Word word = word_of(text, options);
    if (word.kind == "message") {
      if (run.message) reject(text, "is given twice");
      run.message = parse_size(kFlag, word.value);
    } else if (word.kind == "took") {
      if (run.took) reject(text, "is given twice");
      run.took = time_of(kFlag, word.value);
    } else {
      add(points, word, options, job);
    }
  }
  for (const auto& [gpus, point] : points) {
    if (!(point.time.value() > 0))
      throw InputError(kFlag, "says something of " + std::to_string(gpus) + " GPUs but not t" +
                                  std::to_string(gpus) + "=, the step there");
    if (point.data && *point.data >= point.time)
      throw InputError(kFlag,
                       "data" + std::to_string(gpus) + "= is no shorter than the step itself");
    run.points.push_back(point);
  }
  if (run.message.has_value() != run.took.has_value())
    throw InputError(kFlag,
                     "needs both message=SIZE and took=TIME of a collective seen in a trace");
  if (run.points.empty() && !run.message)
    throw InputError(kFlag, "names no step; accepted: t1=TIME,tN=TIME");
  const int most = run.points.empty() ? 0 : run.points.back().gpus;
  if (!run.message && most < 2)
    throw InputError(kFlag, "needs a step on 2 GPUs or more; accepted: t1=TIME,tN=TIME");
  run.ranks = {times_of("--rank-compute", options.rank_compute, most),
               times_of("--rank-wall", options.rank_wall, most),
               times_of("--rank-data", options.rank_data, most)};
  const bool evidence = !run.ranks.compute.empty() || !run.ranks.data.empty() ||
                        !run.ranks.wall.empty() || run.message;
  if (!evidence && run.points.front().gpus != 1)
    throw InputError(kFlag, "needs t1=, the step on one GPU, to hold the others against");
  return run;
}

}  // namespace ddpx
