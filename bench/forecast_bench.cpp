// What a forecast costs. The marks: a point of the 8-layer MLP 5 us, 1,000 layers 0.5 ms, an
// interval 10 points, a sweep of 100,000 points 1 s on one core.
#include <benchmark/benchmark.h>

#include <cmath>

#include "model/forecast.hpp"
#include "model/network.hpp"

namespace {

using namespace ddpx;

// A calibrated machine of ordinary size: 6 widths x 3 batches x 3 passes of products with their
// grids, and a curve of 20 sizes.
Machine machine() {
  Machine m;
  m.name = "bench";
  m.device.multiprocessors = 132;
  m.copy_bandwidth = {BytesPerSecond(4.0e12), 0.02, ""};
  m.optimizer_bandwidth = {BytesPerSecond(3.5e12), 0.02, ""};
  m.kernel_gap = {Seconds(1.5e-6), 0.1, ""};
  m.host[static_cast<std::size_t>(Engine::torch)] = HostCosts{
      {Seconds(44e-6), 0.08, ""},  {Seconds(2e-4), 0.08, ""},   {Seconds(44e-6), 0.08, ""},
      {Seconds(123e-6), 0.08, ""}, {Seconds(130e-6), 0.08, ""}, {Seconds(2.9e-3), 0.08, ""}};
  m.memory_beside = {1.3, 0.1, ""};
  m.hook_overlap = {0.5, 0.5, ""};
  m.rank_spread = 0.005;
  for (double width = 256; width <= 8192; width *= 2) {
    for (double batch : {64.0, 256.0, 1024.0}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        for (double out : {width, 64.0}) {
          const Product product{pass, DType::fp32, batch, width, out};
          const double blocks = std::ceil(batch / 128) * std::ceil(out / 128) * 2;
          m.products.push_back({product,
                                {Seconds(product.flops().value() / 4e13 + 4e-6), 0.02, ""},
                                KernelGrid{blocks, 1, false}});
        }
      }
    }
  }
  return m;
}

Link link() {
  Link l;
  l.name = "bench";
  l.topology = Topology::nvlink;
  l.channels = 24;
  l.beside_compute = {1.05, 0.05, ""};
  std::vector<CurvePoint> points;
  for (double bytes = 1024; bytes <= 1024 * std::pow(2.0, 19); bytes *= 2) {
    points.push_back({Bytes(bytes), Seconds(9e-6 + bytes / 3e11), false, ""});
  }
  l.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes{}, 2},
                        std::vector<ProtocolLine>{}, points);
  return l;
}

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
  for (auto _ : state) {
    double sum = 0;
    for (int i = 0; i < 100000; ++i) {
      Job job;
      job.batch_per_rank = 64 << (i % 5);
      sum += point_forecast(m, l, mlp_of(256 + i % 8192, 8), job).speedup.value;
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(sweep_of_100000_points)->Unit(benchmark::kMillisecond);

}  // namespace
