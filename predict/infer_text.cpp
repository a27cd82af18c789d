#include "predict/infer_text.hpp"

#include <utility>
#include <vector>

#include "predict/link_reading.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

std::string jump_text(const StepJump& jump, Seconds step) {
  return " No bandwidth gives exactly that step, because the forecast jumps there: just below it "
         "is " +
         time_text(jump.below) + ", " + percent_text(jump.below / step - 1) +
         " longer, just above " + time_text(jump.above) + ", " +
         percent_text(1 - jump.above / step) + " shorter.";
}

// "ranks taken to differ by 2 % and samples by 30 % (a rank has 8)"; "" for alike.
std::string spread_text(const Machine& machine, const Job& job) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : " and ") + what; };
  if (job.straggler) add("one rank is taken to be slower by " + percent_text(*job.straggler));
  if (machine.rank_spread > 0)
    add("ranks are taken to differ by " + percent_text(machine.rank_spread));
  if (machine.sample_spread > 0)
    add("samples by " + percent_text(machine.sample_spread) + ", of which a rank has " +
        count_text(job.samples_per_step() / job.gpus));
  return text;
}

}  // namespace

std::string problem_of(const StepPair& steps, const Job& job) {
  return "a step of " + time_text(steps.many) + " on " + std::to_string(job.gpus) +
         " GPUs beside " + time_text(steps.one) + " on one ";
}

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

std::string grounds_of(const Machine& machine, const Job& job, const Step& step) {
  std::string text = "of that the optimizer";
  if (step.term(Term::copies) > Seconds{}) text += " and copies";
  text += step.term(Term::copies) > Seconds{} ? " are" : " is";
  text += " priced on the memory of " + machine.device.name + " (" + machine.name + ")";
  if (step.term(Term::host) > Seconds{}) text += ", the host is that of " + machine.name;
  if (const std::string spread = spread_text(machine, job);
      step.term(Term::imbalance) > Seconds{} && !spread.empty())
    text += ", " + spread;
  return text + "; free communication still has " + time_text(kInferredLatency) +
         " of latency, assumed";
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
          reading_of(found.bus_bandwidth, found.job.gpus) + ".";
  if (found.jump) text += jump_text(*found.jump, found.step);
  if (found.link_alone)
    text += " If the link took all of it, " + rate_text(*found.link_alone) + " would.";
  return text;
}

}  // namespace ddpx
