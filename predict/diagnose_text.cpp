#include "predict/diagnose_text.hpp"

#include <algorithm>

#include "predict/link_reading.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

const std::optional<BytesPerSecond>& implied_at(const DiagnosedRun& run) {
  static const std::optional<BytesPerSecond> kNone;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    if (run.points[i].gpus == run.judged.gpus) return run.implied[i];
  }
  return kNone;
}

std::string excess_text(const DiagnosedRun& run) {
  const StepPoint& judged = run.judged;
  const std::string gpus = std::to_string(judged.gpus) + " GPUs";
  if (!run.diagnosis.excess) return "A step on " + gpus + " takes " + time_text(judged.time) + ". ";
  const Seconds excess = *run.diagnosis.excess;
  const double efficiency = (judged.time - excess) / judged.time;
  const std::string speedup =
      factor_text(judged.gpus * efficiency) + " of " + std::to_string(judged.gpus);
  if (run.diagnosis.verdict == Cause::none) return "On " + gpus + " training is " + speedup + ". ";
  return "On " + gpus + " a step takes " + time_text(judged.time) + ", " + time_text(excess) +
         " longer than its share of the work takes one GPU (" + speedup + "). ";
}

// The share is that of `all`.
std::string share_text(const DiagnosedRun& run, Seconds explains, Seconds all) {
  constexpr double kAbove = 1.05;  // of all there is to explain
  std::string share = percent_text(all / run.judged.time) + " of the step";
  if (run.diagnosis.excess) {
    const double of_it = all / *run.diagnosis.excess;
    share = of_it > kAbove ? "more than all of that" : percent_text(of_it) + " of that";
  }
  return time_text(explains) + ", " + share;
}
std::string share_text(const DiagnosedRun& run, Seconds explains) {
  return share_text(run, explains, explains);
}

// What a rank waits for data, and longer than whom.
std::string wait_text(const DiagnosedRun& run) {
  const Finding& found = *run.diagnosis.finding(Cause::loader);
  const StepPoint& one = run.points.front();
  const std::string wait = share_text(run, found.explains);
  if (run.data_by_rank) return " waits for data longer than the median rank by " + wait;
  if (run.judged.data && one.gpus == 1 && one.data)
    return " waits for data longer than on one GPU by " + wait;
  return " waits for data for " + wait;
}

// The points to time again, "the step on 2 GPUs"; empty where none is suspect.
std::string suspects(const DiagnosedRun& run) {
  std::string counts;
  for (const PointFlag& flag : run.flags)
    counts += (counts.empty() ? "" : ", ") + std::to_string(flag.gpus);
  return counts.empty() ? "" : "the step on " + counts + " GPUs";
}

DiagnosisWords nothing_words(const DiagnosedRun& run, const std::string& begin) {
  if (run.flags.empty()) return {begin + "There is nothing to explain.", "none; it scales"};
  const bool judged = std::any_of(run.flags.begin(), run.flags.end(), [&](const PointFlag& flag) {
    return flag.gpus == run.judged.gpus;
  });
  return {begin + (judged ? "That cannot be: no cause is looked for."
                          : "There is nothing to explain there."),
          suspects(run) + " again, with that on one GPU and at the same batch"};
}

// An exchange that would take much longer than what is to be explained runs over a faster link.
constexpr double kTooMuch = 1.5;

std::string exchange_text(const DiagnosedRun& run, Cause cause, const std::string& link,
                          double parameters) {
  const Finding* found = run.diagnosis.finding(cause);
  const Seconds explains = found == nullptr ? Seconds{} : found->explains;
  const std::string what =
      "over " + shortened(printable(link), 40) +
      (cause == Cause::latency
           ? " the latency of its messages takes "
           : " exchanging the gradients of " + amount_text(parameters) + " parameters takes ");
  if (!run.diagnosis.excess || explains < *run.diagnosis.excess * kTooMuch)
    return what + share_text(run, explains);
  return what + time_text(explains) +
         ", more than all of that: the link is faster than it was named, or less is exchanged";
}

std::string which_rank(const DiagnosedRun& run, Cause cause) {
  const Finding* found = run.diagnosis.finding(cause);
  return found != nullptr && found->rank ? "rank " + std::to_string(*found->rank) : "a rank";
}

// Beside one slow rank: all of them may be slower than one GPU alone.
std::string also_slow(const DiagnosedRun& run) {
  const Finding* found = run.diagnosis.finding(Cause::slow_compute);
  return found == nullptr ? ""
                          : "; the median rank itself computes longer than one GPU takes for its "
                            "share by " +
                                time_text(found->explains);
}

std::string unexplained_text(const DiagnosedRun& run, const std::string& link, double parameters) {
  std::string text = "Nothing here explains it.";
  if (run.diagnosis.not_communication) {
    const Finding* transfer = run.diagnosis.finding(Cause::communication);
    const Finding* latency = run.diagnosis.finding(Cause::latency);
    text += " It is not communication: over " + shortened(printable(link), 40) +
            " overlap leaves " + time_text(transfer->explains) +
            " of the exchange and of its latency " +
            share_text(run, latency->explains, transfer->explains + latency->explains) + ".";
  }
  if (const Finding* transfer = run.diagnosis.finding(Cause::communication);
      transfer != nullptr && !run.diagnosis.not_communication)
    text += " Communication over " + shortened(printable(link), 40) + " is forecast to take " +
            share_text(run, transfer->explains) +
            ", but the end of the forecast's interval could explain it.";
  if (const auto& implied = implied_at(run)) {
    const std::string reading = reading_of(*implied, run.judged.gpus);
    const std::string link_text = "link of " + rate_text(*implied) + " bus bandwidth and " +
                                  time_text(*run.assumed_latency) + " latency (assumed)";
    const std::string model = amount_text(parameters) + " parameters";
    if (link.empty() && *implied >= kSlowestWorkingLink)
      return "What explains it depends on the link: for " + model + " a " + link_text +
             " would if the link took all of it (--infer-link takes off what framework and slowest "
             "rank take), " +
             reading + ".";
    text += " For " + model + " it would take, if the link took all of it, a " + link_text +
            (run.named ? ", " + percent_text(*implied / *run.named) + " of " +
                             shortened(printable(link), 40) + "'s"
                       : "") +
            ": " + reading + ".";
  } else if (parameters > 0 && run.diagnosis.excess && !run.diagnosis.not_communication) {
    text += " No link is slow enough to explain it.";
  }
  return text;
}

// What a cause left open calls for first: the cheapest measurement that was not given.
std::string missing(const DiagnosedRun& run, const std::string& link, double parameters) {
  const std::string n = std::to_string(run.judged.gpus);
  if (parameters == 0 && run.diagnosis.excess)
    return "the model's size and its link (--params, --link): they say what communication takes";
  if (link.empty() && run.diagnosis.excess)
    return "the link it ran on (--link by name, or all_reduce_perf's log)";
  if (!run.judged.busy)
    return "the device's busy share (busy" + n + "=): idle time is the host's or the loader's";
  if (run.diagnosis.finding(Cause::slow_rank) == nullptr)
    return "each rank's compute before the exchange (--rank-compute): it shows a slow rank";
  if (run.diagnosis.finding(Cause::loader) == nullptr)
    return "the wait for data (data" + n + "=), or the same run on synthetic data";
  return "a profiler trace of one step (python3 -m ddpx_torch trace)";
}

}  // namespace

DiagnosisWords diagnosis_words(const DiagnosedRun& run, const std::string& link,
                               double parameters) {
  const Diagnosis& d = run.diagnosis;
  const std::string begin = excess_text(run);
  const auto explained = [&](Cause cause) { return share_text(run, d.finding(cause)->explains); };
  switch (d.verdict) {
    case Cause::none:
      return nothing_words(run, begin);
    case Cause::communication:
      return {
          begin + "Communication explains it: " +
              exchange_text(run, Cause::communication, link, parameters) + ".",
          "the link itself: all_reduce_perf on these GPUs, its log to --check-link; then compare "
          "--strategy ddp,accumulate=8"};
    case Cause::latency:
      return {begin + "Latency explains it: " +
                  exchange_text(run, Cause::latency, link, parameters) + ".",
              "all_reduce_perf from 8 B on; fewer and larger messages help (--strategy "
              "ddp,bucket=100MiB), and accumulation"};
    case Cause::host:
      return {
          begin + "The host explains it: the device is idle for " + explained(Cause::host) + ".",
          "a profiler trace of one step (python3 -m ddpx_torch trace): what the host does while "
          "the device is idle"};
    case Cause::slow_rank:
      return {begin + "A slow rank explains it: " + which_rank(run, Cause::slow_rank) +
                  " computes longer than the median rank by " + explained(Cause::slow_rank) +
                  also_slow(run) + ".",
              "that rank's GPU alone (ddpx-calibrate), its clocks, power and temperature "
              "(nvidia-smi -q), and the work it was given"};
    case Cause::slow_compute:
      return {begin +
                  "Slower compute explains it: the median rank computes longer than one GPU "
                  "takes for its whole share by " +
                  explained(Cause::slow_compute) + ".",
              "one GPU's step again while the others are busy: clocks, power and temperature "
              "(nvidia-smi -q), host cores per rank, and the work each rank was given"};
    case Cause::loader:
      return {begin + "The loader explains it: " + which_rank(run, Cause::loader) + wait_text(run) +
                  ".",
              "the same run on synthetic data, then more loader workers and usable cores per rank"};
    case Cause::unexplained:
      break;
  }
  return {begin + unexplained_text(run, link, parameters), missing(run, link, parameters)};
}

std::string diagnosis_text(const DiagnosedRun& run) {
  std::string text = wrapped(run.verdict);
  for (const std::string& note : run.notes) text += wrapped(note);
  text += wrapped("Measure next: " + run.next + ".", {.rest = 2});
  const bool several = run.points.size() > 1 || !run.diagnosis.findings.empty();
  if (!several || run.points.empty()) return text;
  const bool implied = std::any_of(run.implied.begin(), run.implied.end(),
                                   [](const auto& link) { return link.has_value(); });
  std::vector<TextTable::Column> columns{{"GPUs"}, {"step"}, {"each GPU's work"}};
  if (implied)
    columns.push_back({"link of " + time_text(*run.assumed_latency) + " that alone explains it"});
  TextTable points(std::move(columns));
  const StepPoint& one = run.points.front();
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const StepPoint& point = run.points[i];
    const bool flagged = std::any_of(run.flags.begin(), run.flags.end(),
                                     [&](const PointFlag& f) { return f.gpus == point.gpus; });
    std::vector<std::string> cells{
        std::to_string(point.gpus), time_text(point.time),
        one.gpus != 1 || !run.each[i] ? "-" : factor_text(*run.each[i]) + (flagged ? " !" : "")};
    if (implied) cells.push_back(run.implied[i] ? rate_text(*run.implied[i]) : "-");
    points.add(std::move(cells));
  }
  text += "\n" + points.text();
  if (run.diagnosis.findings.empty() || run.diagnosis.verdict == Cause::none) return text;
  TextTable findings({{"what", true}, {"explains"}});
  for (const Finding& finding : run.diagnosis.findings) {
    std::string what(name(finding.cause));
    std::replace(what.begin(), what.end(), '_', ' ');
    if (finding.rank) what += " " + std::to_string(*finding.rank);
    findings.add({what, time_text(finding.explains)});
  }
  return text + "\n" + findings.text();
}

}  // namespace ddpx
