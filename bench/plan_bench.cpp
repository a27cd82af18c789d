// What a decision costs beside its forecasts. The mark: a diagnosis 5 ms.
#include <benchmark/benchmark.h>

#include "io/catalog.hpp"
#include "model/plan.hpp"
#include "predict/diagnose.hpp"
#include "predict/link_text.hpp"

namespace {

using namespace ddpx;

void plans_of_200(benchmark::State& state) {
  const Machine machine = io::find_machine("t4x2");
  const Link link = machine.links.front();
  const Network network = mlp({.width = 1024, .depth = 8});
  PlanQuestion question;
  question.samples = 1e8;
  question.critical = kPublicCriticalBatch;
  question.prices = Prices{"", 2, {}};
  question.deadline = Seconds(86400);
  std::vector<Forecast> forecasts;
  std::vector<Job> jobs;
  for (int i = 0; i < 200; ++i) {
    Job job;
    job.strategy.micro_batches = 1 + i;
    jobs.push_back(job);
    forecasts.push_back(forecast(machine, link, network, job));
  }
  for (auto _ : state) {
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      plans.push_back(plan_of(question, forecasts[i], jobs[i], {1, 2}, link.name));
    benchmark::DoNotOptimize(cheapest(plans, question.deadline));
  }
}
BENCHMARK(plans_of_200)->Unit(benchmark::kMicrosecond);

void diagnosis_of_three_counts(benchmark::State& state) {
  Options options;
  options.diagnose = "t1=1s,t2=1.5s,t4=2s";
  options.params = "350M";
  options.links = {"10GB/s,20us"};
  Resolvers names;
  Machine machine = io::find_machine("t4x2");
  names.machine = [&](const auto&) { return machine; };
  names.link = [](std::string_view, const auto& name, const Machine&) {
    return link_from_figures("--link", *name);
  };
  for (auto _ : state) benchmark::DoNotOptimize(diagnose(options, names));
}
BENCHMARK(diagnosis_of_three_counts)->Unit(benchmark::kMillisecond);

}  // namespace
