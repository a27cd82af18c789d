#include "predict/request_diagnose.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "model/error.hpp"
#include "model/quantity.hpp"
#include "predict/gpu_counts.hpp"
#include "predict/rank_report.hpp"
#include "predict/rate_table.hpp"
#include "predict/request_gpus.hpp"

namespace ddpx {
namespace {

constexpr const char* kDiagnoseFlag = "--diagnose";

[[noreturn]] void reject(std::string_view word, std::string_view problem) {
  throw InputError(kDiagnoseFlag,
                   "'" + shown(word) + "' " + std::string(problem) +
                       "; accepted: tN=TIME or rN=SAMPLES/S (N: GPUs), busyN=PERCENT, "
                       "dataN=TIME, message=SIZE with took=TIME, as t1=120ms,t4=180ms");
}

struct Word {
  std::string kind;  // "t", "busy", "message"
  int gpus = 0;      // 0: of no count
  std::string value;
  bool of_n = false;
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
    word.of_n = true;
  } else if (digits < key.size()) {
    word.gpus = parse_count(kDiagnoseFlag, key.substr(digits), 1, kMostGpus);
  }
  for (const char* kind : {"t", "r", "busy", "data"}) {
    if (word.kind == kind && word.gpus > 0) return word;
  }
  reject(text, "is not known");
}

bool is_report(const std::string& text) {
  return is_file(text) || text.ends_with(".txt") || text.ends_with(".log");
}

// "0", "0ms", "0.0 s".
bool is_zero(const std::string& word) {
  const std::size_t end = word.find_first_not_of("0.");
  return word.starts_with('0') && (end == std::string::npos || word.substr(end) == "s" ||
                                   word.substr(end) == "ms" || word.substr(end) == "us");
}

std::vector<Seconds> times_of(const char* flag, const std::optional<std::string>& text,
                              const Resolvers& resolvers, int most_gpus) {
  std::vector<Seconds> times;
  if (!text) return times;
  if (is_report(*text)) {
    times = rank_times(std::string(flag) + " " + shown(*text), resolvers.text_file(*text));
  } else {
    // A rank that does not wait for data is the usual one.
    const bool may_be_none = std::string_view(flag) == "--rank-data";
    for (const std::string& word : parse_list(flag, *text))
      times.push_back(may_be_none && is_zero(word) ? Seconds{} : time_of(flag, word));
  }
  if (times.size() < 2 || times.size() > kMostTimedRanks ||
      (most_gpus > 1 && times.size() != static_cast<std::size_t>(most_gpus))) {
    throw InputError(flag, "gives " + std::to_string(times.size()) + " times; accepted: one for " +
                               "each rank of the largest count of --diagnose" +
                               (most_gpus > 1 ? ", " + std::to_string(most_gpus) : ", 2 or more"));
  }
  return times;
}

Seconds step_of(const Word& word, const Options& options, Job job) {
  if (word.kind == "t") return time_of(kDiagnoseFlag, word.value);
  if (!options.batch)
    throw InputError(kDiagnoseFlag,
                     "rN= is samples per second and needs --batch, the samples of a step on "
                     "each GPU; or give the step's time as tN=");
  job.gpus = word.gpus;
  const double samples = word.gpus == 1 ? job.one_gpu().samples_per_step() : job.samples_per_step();
  const Seconds time(samples / parse_amount(kDiagnoseFlag, word.value));
  if (!(time >= Seconds(1e-9)) || time > Seconds(1e6))
    throw InputError(kDiagnoseFlag,
                     "'" + shown(word.value) +
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
      throw InputError(kDiagnoseFlag, "gives " + word.kind + " of " + std::to_string(word.gpus) +
                                          " GPUs twice; leave one out");
  };
  if (word.kind == "busy") {
    once(point.busy.has_value());
    point.busy = parse_percent(kDiagnoseFlag, word.value, 1);
    if (!(*point.busy > 0))
      throw InputError(kDiagnoseFlag,
                       "busy" + std::to_string(word.gpus) +
                           "=0% is a device that did nothing; accepted: above 0% to 100%");
  } else if (word.kind == "data") {
    once(point.data.has_value());
    point.data = is_zero(word.value) ? Seconds{} : time_of(kDiagnoseFlag, word.value);
  } else {
    once(point.time.value() > 0);
    point.time = step_of(word, options, job);
  }
}

// Words, or a file of rates as words.
std::vector<std::string> words_given(const Options& options, const Resolvers& resolvers,
                                     MeasuredRun& run) {
  const std::string& text = options.diagnose.value();
  if (text.find('=') != std::string::npos || !is_report(text))
    return parse_list(kDiagnoseFlag, text);
  const RateTable table =
      rate_table(std::string(kDiagnoseFlag) + " " + shown(text), resolvers.text_file(text));
  std::string note = "Read: " + shown(table.benchmark);
  if (!table.plan.empty()) note += " (" + shown(table.plan) + ")";
  note += ".";
  if (!table.left_out.empty()) {
    note += " Left out, for they name no plan and so are copies that run side by side:";
    for (const std::string& name : table.left_out)
      note += " " + shown(name) + (&name == &table.left_out.back() ? "." : ",");
  }
  run.notes.push_back(note);
  std::vector<std::string> words;
  for (const auto& [gpus, rate] : table.rates)
    words.push_back("r" + std::to_string(gpus) + "=" + rate);
  return words;
}

}  // namespace

MeasuredRun measured_run(const Options& options, const Resolvers& resolvers, Job job) {
  MeasuredRun run;
  std::map<int, StepPoint> points;
  for (const std::string& text : words_given(options, resolvers, run)) {
    const Word word = word_of(text, options);
    if (word.kind == "message") {
      if (run.message) reject(text, "is given twice");
      run.message = parse_size(kDiagnoseFlag, word.value);
    } else if (word.kind == "took") {
      if (run.took) reject(text, "is given twice");
      run.took = time_of(kDiagnoseFlag, word.value);
    } else {
      add(points, word, options, job);
      run.by_rate = run.by_rate || word.kind == "r";
      run.for_n_gpus = run.for_n_gpus || word.of_n;
    }
  }
  for (const auto& [gpus, point] : points) {
    if (!(point.time.value() > 0))
      throw InputError(kDiagnoseFlag, "says something of " + std::to_string(gpus) +
                                          " GPUs but not t" + std::to_string(gpus) +
                                          "=, the step there");
    if (point.data && *point.data >= point.time)
      throw InputError(kDiagnoseFlag,
                       "data" + std::to_string(gpus) + "= is no shorter than the step itself");
    run.points.push_back(point);
  }
  if (run.message.has_value() != run.took.has_value())
    throw InputError(kDiagnoseFlag,
                     "needs both message=SIZE and took=TIME of a collective seen in a trace");
  if (run.points.empty() && !run.message)
    throw InputError(kDiagnoseFlag, "names no step; accepted: t1=TIME,tN=TIME");
  const int most = run.points.empty() ? 0 : run.points.back().gpus;
  if (!run.message && most < 2)
    throw InputError(kDiagnoseFlag, "needs a step on 2 GPUs or more; accepted: t1=TIME,tN=TIME");
  run.ranks = {times_of("--rank-compute", options.rank_compute, resolvers, most),
               times_of("--rank-wall", options.rank_wall, resolvers, most),
               times_of("--rank-data", options.rank_data, resolvers, most)};
  const bool evidence = !run.ranks.compute.empty() || !run.ranks.data.empty() ||
                        !run.ranks.wall.empty() || run.message;
  if (!evidence && run.points.front().gpus != 1)
    throw InputError(kDiagnoseFlag, "needs t1=, the step on one GPU, to hold the others against");
  return run;
}

namespace {

// Flags of which one at most describes the run.
void check_given_once(const Options& o) {
  if (o.links.size() > 1) throw InputError("--link", "is the link of the run; give it once");
  if (o.strategies.size() > 1)
    throw InputError("--strategy", "is the strategy of the run; give it once");
  if (o.networks.size() > 1 || (o.params && !o.networks.empty()))
    throw InputError("--network", "is the network of the run; give it once, or --params");
  if (o.batch && o.batch->find(',') != std::string::npos)
    throw InputError("--batch", "'" + shown(*o.batch) + "' must be the one batch of the run");
}

void useless(bool given, const char* flag, const std::string& why, const std::string& remedy) {
  if (given) throw InputError(flag, "cannot change what --diagnose says " + why + "; " + remedy);
}

// A message is held against the link alone.
void check_message(const Options& o) {
  const std::string why = "of a message, which is held against --link alone";
  const std::pair<const char*, bool> flags[] = {{"--params", o.params.has_value()},
                                                {"--network", !o.networks.empty()},
                                                {"--strategy", !o.strategies.empty()},
                                                {"--optimizer", o.optimizer.has_value()},
                                                {"--engine", o.engine.has_value()},
                                                {"--scaling", o.scaling.has_value()},
                                                {"--batch", o.batch.has_value()},
                                                {"--loader-rate", o.loader_rate.has_value()},
                                                {"--rank-compute", o.rank_compute.has_value()},
                                                {"--rank-wall", o.rank_wall.has_value()},
                                                {"--rank-data", o.rank_data.has_value()}};
  for (const auto& [flag, given] : flags) useless(given, flag, why, "leave it out");
}

bool accumulates(const Options& o) {
  return !o.strategies.empty() && parse_strategy(o.strategies.front()).micro_batches > 1;
}

}  // namespace

void check_diagnosis(const Options& o, const MeasuredRun& run) {
  check_given_once(o);
  useless(o.nics && !o.inter_link, "--nics", "without --inter-link", "leave it out");
  if (o.inter_link && !o.gpus)
    throw InputError("--inter-link", "joins nodes; give them by --gpus, as 2x8");
  const std::vector<NodeLayout> layouts = gpus_of(o);
  useless(o.inter_link && o.links.empty() && !alone_in_nodes(layouts), "--inter-link",
          "of nodes of several GPUs without what is inside them", "add --link");
  if (run.message) {
    if (!run.points.empty())
      throw InputError(kDiagnoseFlag,
                       "message= of a trace and tN= of steps are two questions; give one");
    return check_message(o);
  }
  const bool one = run.points.front().gpus == 1;
  const bool sized = o.params || !o.networks.empty();
  const char* size = o.params ? "--params" : "--network";
  useless(sized && !one, size, "without t1=, the step on one GPU", "add t1= or leave it out");
  const std::string unsized = "without --params or --network, the size of the exchange";
  const std::string remedy = "add one of them or leave it out";
  useless(!sized && !o.links.empty(), "--link", unsized, remedy);
  useless(!sized && o.inter_link, "--inter-link", unsized, remedy);
  useless(!sized && o.machine, "--machine", unsized, remedy);
  useless(!sized && o.gpu, "--gpu", unsized, remedy);
  useless(!sized && o.optimizer, "--optimizer", unsized, remedy);
  useless(!sized && o.engine, "--engine", unsized, remedy);
  useless(!sized && !o.strategies.empty() && !(one && accumulates(o)), "--strategy", unsized,
          remedy);
  useless(!one && o.scaling && !o.loader_rate && !run.by_rate, "--scaling",
          "without t1=, the step on one GPU", "add t1= or leave it out");
  if (o.loader_rate && !o.batch)
    throw InputError("--loader-rate", "needs --batch, the samples of a step on each GPU");
  useless(o.batch && !o.loader_rate && !run.by_rate, "--batch",
          "of steps given as times, which are of one batch", "leave it out or give rN=");
  const bool spread = o.gpus && names_link(o) && o.gpus->find('x') != std::string::npos;
  useless(o.gpus && !run.for_n_gpus && !spread, "--gpus", "of steps that name their counts (t2=)",
          "leave it out, or give tn= or nodes and --link");
}

}  // namespace ddpx
