// What a decision costs. The marks: 200 strategies ranked in 5 ms, an inverse query in 5 ms.
#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/machine.hpp"
#include "model/network_spec.hpp"
#include "model/ranking.hpp"
#include "predict/request_decisions.hpp"
#include "predict/setting.hpp"

namespace {

using namespace ddpx;

std::vector<Candidate> two_hundred(const Link& link) {
  std::vector<Candidate> list;
  const char* kinds[] = {"ddp", "compress=fp16", "bucket-view", "zero=1", "fsdp=block"};
  for (int i = 0; i < 200; ++i) {
    Strategy strategy = parse_strategy(kinds[i % 5]);
    strategy.micro_batches = 1 + i / 5;
    list.push_back({strategy, &link});
  }
  return list;
}

void ranking_200_strategies(benchmark::State& state) {
  const Machine m = bench::machine();
  const Link l = bench::link();
  const Network network = mlp({.width = 4096, .depth = 8});
  const RankQuestion question{m, l, network, Job{}, 1, Bytes(80e9)};
  const std::vector<Candidate> list = two_hundred(l);
  for (auto _ : state) benchmark::DoNotOptimize(rank(question, list).size());
}
BENCHMARK(ranking_200_strategies)->Unit(benchmark::kMillisecond);

// With the search for the best bucket and channel count.
void ranking_what_is_worth_trying(benchmark::State& state) {
  const Machine m = bench::machine();
  const Link l = bench::link();
  const Network network = mlp({.width = 4096, .depth = 8});
  const RankQuestion question{m, l, network, Job{}, 1, Bytes(80e9)};
  for (auto _ : state) benchmark::DoNotOptimize(rank_strategies(question).strategies.size());
}
BENCHMARK(ranking_what_is_worth_trying)->Unit(benchmark::kMillisecond);

void inverse(benchmark::State& state, const std::string& spec, double batch) {
  Query query;
  query.machine = bench::machine();
  const Link l = bench::link();
  const Network network = network_from(spec);
  const ModelSize size = size_of(spec);
  Job job;
  job.batch_per_rank = batch;
  for (auto _ : state) {
    const ProductTable products(query.machine, job.dtype);
    const Setting setting{query, l, job, 1, &l, products};
    benchmark::DoNotOptimize(
        requirement_of(setting, network, &size, {Metric::speedup, 1.8}).unknowns.size());
  }
}
BENCHMARK_CAPTURE(inverse, of_an_mlp_of_8_layers, "mlp:width=4096,depth=8", 256)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(inverse, of_a_gpt_of_12_layers, "gpt:layers=12,hidden=768,heads=12", 8)
    ->Unit(benchmark::kMillisecond);

// Nodes of 8: links of two levels, and as many nodes as are looked at.
void inverse_over_nodes(benchmark::State& state) {
  Query query;
  query.machine = bench::machine();
  query.inter_link = bench::network();
  const Link l = bench::link();
  const std::string spec = "gpt:layers=48,hidden=1600,heads=25";
  const Network network = network_from(spec);
  const ModelSize size = size_of(spec);
  Job job;
  job.batch_per_rank = 8;
  const auto nodes = static_cast<int>(state.range(0));
  job.gpus = nodes * 8;
  const Link joined = link_of(query, l, {nodes, 8});
  for (auto _ : state) {
    const ProductTable products(query.machine, job.dtype);
    const Setting setting{query, joined, job, nodes, &l, products};
    benchmark::DoNotOptimize(
        requirement_of(setting, network, &size, {Metric::efficiency, 0.9}).unknowns.size());
  }
}
BENCHMARK(inverse_over_nodes)->Arg(2)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
