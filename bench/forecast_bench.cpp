// What a forecast costs. The marks: a point of the 8-layer MLP 5 us, 1,000 layers 0.5 ms, an
// interval 10 points, a sweep of 100,000 points 1 s on one core.
#include <benchmark/benchmark.h>

#include "bench/machine.hpp"
#include "io/catalog.hpp"
#include "model/forecast.hpp"
#include "model/network.hpp"

namespace {

using namespace ddpx;

using bench::link;
using bench::machine;

Network mlp_of(double width, int depth) { return mlp({.width = width, .depth = depth}); }

void point(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const Network network = mlp_of(4096, 8);
  for (auto _ : state) benchmark::DoNotOptimize(point_forecast(m, l, network, Job{}).speedup.value);
}
BENCHMARK(point);

void point_of_an_unmeasured_shape(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const Network network = mlp_of(3000, 8);
  for (auto _ : state) benchmark::DoNotOptimize(point_forecast(m, l, network, Job{}).speedup.value);
}
BENCHMARK(point_of_an_unmeasured_shape);

// The shipped machine of two H200, by its kernels' costs: the table is made in every round, and
// with it the ratios of the shapes around.
void point_of_an_unmeasured_shape_of_two_h200(benchmark::State& state) {
  const Machine m = io::find_machine("h200x2");
  const Link l = link();
  const Network network = mlp_of(3000, 8);
  for (auto _ : state) benchmark::DoNotOptimize(point_forecast(m, l, network, Job{}).speedup.value);
}
BENCHMARK(point_of_an_unmeasured_shape_of_two_h200);

// One product of another width each time, from one table.
void product_of_an_unmeasured_shape_of_two_h200(benchmark::State& state) {
  const Machine m = io::find_machine("h200x2");
  const ProductTable table(m, DType::fp32);
  double width = 512;
  for (auto _ : state) {
    width = width < 8192 ? width + 1 : 513;
    benchmark::DoNotOptimize(table.price({Pass::forward, DType::fp32, 256, width, width}).time);
  }
}
BENCHMARK(product_of_an_unmeasured_shape_of_two_h200);

// The model the analytic peer of docs/bench.md was timed on.
void point_of_a_gpt_of_12_layers(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const Network network =
      gpt({.layers = 12, .hidden = 768, .heads = 16, .sequence = 2048, .vocabulary = 51200});
  Job job;
  job.batch_per_rank = 8;
  job.gpus = 8;
  for (auto _ : state) benchmark::DoNotOptimize(point_forecast(m, l, network, job).speedup.value);
}
BENCHMARK(point_of_a_gpt_of_12_layers);

void interval(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const Network network = mlp_of(4096, 8);
  for (auto _ : state) benchmark::DoNotOptimize(forecast(m, l, network, Job{}).speedup.high);
}
BENCHMARK(interval);

void layers(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const Network network = mlp_of(1024, static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(point_forecast(m, l, network, Job{}).speedup.value);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(layers)->RangeMultiplier(10)->Range(10, 10000)->Complexity(benchmark::oN);

void sweep_of_100000_points(benchmark::State& state) {
  const Machine m = machine();
  const Link l = link();
  const ProductTable products(m, DType::fp32);
  for (auto _ : state) {
    double sum = 0;
    for (int i = 0; i < 100000; ++i) {
      Job job;
      job.batch_per_rank = 64 << (i % 5);
      sum += point_forecast(m, products, l, mlp_of(256 + i % 8192, 8), job).speedup.value;
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(sweep_of_100000_points)->Unit(benchmark::kMillisecond);

}  // namespace
