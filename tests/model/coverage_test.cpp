// Whether nominal 90 % intervals cover 90 % of fresh runs. The runs come from a simulator that
// shares nothing with the model: constants drawn one by one around the machine's, a step played
// through event by event, thread blocks placed one by one, and a residual on what a stopwatch would
// read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/forecast.hpp"
#include "tests/support/simulated_step.hpp"

namespace ddpx {
namespace {

using test::Play;
using test::World;

// Standard errors of the constants, and of a stopwatch's reading.
struct Errors {
  double compute, memory, link, host, beside, memory_beside, residual;
};

// The same world in the model's terms.
struct Setting {
  Machine machine;
  Link link;
  Network network;
  Job job;
};

Setting setting_of(const World& w, const Errors& e) {
  Setting s;
  for (int i = 0; i < w.layers; ++i) {
    Layer layer;
    layer.name = std::to_string(i);
    layer.tensors = {w.elements};
    layer.products = {{1, w.elements, 1, 1}};
    layer.needs_data_gradient = i > 0;
    s.network.layers.push_back(layer);
  }
  const auto add = [&](Pass pass, double seconds) {
    ProductPoint point;
    point.product = {pass, DType::fp32, 1, w.elements, 1};
    point.time = {Seconds(seconds), e.compute, ""};
    if (w.blocks > 0) point.grid = KernelGrid{static_cast<double>(w.blocks), 1, false};
    s.machine.products.push_back(point);
  };
  add(Pass::forward, w.forward);
  add(Pass::data_gradient, w.data_gradient);
  add(Pass::weight_gradient, w.weight_gradient);
  s.machine.device.multiprocessors = w.multiprocessors;
  s.machine.copy_bandwidth = {BytesPerSecond(1 / w.copy_seconds_per_byte), e.memory, ""};
  s.machine.optimizer_bandwidth = {BytesPerSecond(1 / w.update_seconds_per_byte), e.memory, ""};
  s.machine.memory_beside = Estimate<double>{w.memory_beside, e.memory_beside, ""};
  s.machine.residual = e.residual;
  HostCosts host;
  // A fresh process moves all that its host does alike.
  host.step_per_tensor = {Seconds(w.host_per_layer), 0, ""};
  host.sync_per_tensor = {Seconds(w.host_per_sync), 0, ""};
  host.spread = e.host;
  s.machine.host[static_cast<std::size_t>(Engine::torch)] = host;
  s.link.topology = Topology::nvlink;
  s.link.channels = w.channels;
  s.link.beside_compute = {w.collective_beside, e.beside, ""};
  const ProtocolLine line{{Seconds(w.latency), 0, ""},
                          {BytesPerSecond(1 / w.seconds_per_byte), 0, ""}};
  s.link.curves.emplace_back(CollectiveCall{}, std::vector<ProtocolLine>{line},
                             std::vector<CurvePoint>{});
  s.link.curves.back().relative_error = e.link;
  s.job.gpus = 2;
  s.job.batch_per_rank = 1;
  s.job.strategy.micro_batches = w.micro_batches;
  s.job.strategy.buckets = BucketLimits::explicit_cap(Bytes(4 * w.elements * w.layers_per_bucket));
  return s;
}

class Nature {
 public:
  explicit Nature(std::uint64_t seed) : engine_(seed) {}
  double normal() { return normal_(engine_); }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  double size(double low, double high) { return low * std::pow(high / low, between(0, 1)); }
  int count(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

  World world() {
    World w;
    w.layers = count(3, 12);
    w.forward = size(1e-4, 1e-2);
    w.data_gradient = w.forward * between(0.8, 1.3);
    w.weight_gradient = w.forward * between(0.8, 1.3);
    // Communication from a tenth of backward to three times it.
    w.latency = w.forward * between(0.001, 0.05);
    w.seconds_per_byte = w.forward * size(0.2, 6) / (4 * w.elements);
    w.copy_seconds_per_byte = w.forward * size(0.005, 0.08) / (8 * w.elements);
    w.update_seconds_per_byte = w.copy_seconds_per_byte * between(0.9, 1.1);
    w.memory_beside = between(1.0, 1.5);
    w.collective_beside = between(1.05, 1.3);
    if (between(0, 1) < 0.5) {
      w.multiprocessors = count(30, 132);
      w.channels = count(2, 24);
      w.blocks = count(20, 600);
    }
    const double device =
        w.layers * (w.forward + w.data_gradient + w.weight_gradient) * between(0.3, 1.6);
    w.host_per_layer = device / w.layers * 0.7;
    w.host_per_sync = device / w.layers * 0.3;
    w.layers_per_bucket = count(1, 3);
    w.micro_batches = between(0, 1) < 0.3 ? count(2, 4) : 1;
    return w;
  }
  Errors errors() {
    return {between(0.005, 0.03), between(0.01, 0.05), between(0.01, 0.1), between(0.03, 0.1),
            between(0.01, 0.05),  between(0.01, 0.05), between(0.01, 0.03)};
  }
  // The constants as they are, where the machine holds them with a standard error.
  World drawn(World w, const Errors& e) {
    const double compute = 1 + e.compute * normal();
    w.forward *= compute;
    w.data_gradient *= compute;
    w.weight_gradient *= compute;
    const double memory = 1 / (1 + e.memory * normal());
    w.copy_seconds_per_byte *= memory;
    w.update_seconds_per_byte *= memory;
    const double link = 1 + e.link * normal();
    w.latency *= link;
    w.seconds_per_byte *= link;
    const double host = 1 + e.host * normal();
    w.host_per_layer *= host;
    w.host_per_sync *= host;
    const double beside = normal();
    w.collective_beside = std::max(1.0, w.collective_beside * (1 + e.beside * beside));
    w.memory_beside = std::max(1.0, w.memory_beside * (1 + e.memory_beside * beside));
    return w;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

TEST(Simulator, agrees_with_the_model_on_the_point) {
  Nature nature(1);
  std::vector<double> errors;
  for (int i = 0; i < 500; ++i) {
    const World w = nature.world();
    const Setting s = setting_of(w, nature.errors());
    const Forecast f = point_forecast(s.machine, s.link, s.network, s.job);
    errors.push_back(std::abs(f.step_time_s.value / Play(w, 2).run() - 1));
    World plain = w;
    plain.micro_batches = 1;
    ASSERT_NEAR(f.one_gpu_step_s, Play(plain, 1).run(), 1e-9);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 1e-3);
  EXPECT_LT(errors[errors.size() * 95 / 100], 0.01);
}

struct Coverage {
  int runs = 0, step = 0, speedup = 0;
  void count(const Forecast& f, double step_time, double speedup_seen) {
    ++runs;
    step += f.step_time_s.contains(step_time) ? 1 : 0;
    speedup += f.speedup.contains(speedup_seen) ? 1 : 0;
  }
  [[nodiscard]] double of_step() const { return static_cast<double>(step) / runs; }
  [[nodiscard]] double of_speedup() const { return static_cast<double>(speedup) / runs; }
};

TEST(Intervals, of_90_percent_cover_88_to_92_percent_of_10000_fresh_runs) {
  constexpr int kWorlds = 500;
  constexpr int kRunsEach = 20;
  Nature nature(2);
  Coverage linear;
  Coverage drawn;
  for (int i = 0; i < kWorlds; ++i) {
    const World w = nature.world();
    const Errors e = nature.errors();
    const Setting s = setting_of(w, e);
    const Forecast by_lines = forecast(s.machine, s.link, s.network, s.job);
    ForecastOptions options;
    options.method = IntervalMethod::monte_carlo;
    const Forecast by_draws = forecast(s.machine, s.link, s.network, s.job, options);
    for (int run = 0; run < kRunsEach; ++run) {
      const World truth = nature.drawn(w, e);
      World plain = truth;
      plain.micro_batches = 1;
      const double step = Play(truth, 2).run() * (1 + e.residual * nature.normal());
      const double one = Play(plain, 1).run() * (1 + e.residual * nature.normal());
      const double speedup = 2.0 * w.micro_batches * one / step;
      linear.count(by_lines, step, speedup);
      drawn.count(by_draws, step, speedup);
    }
  }
  for (const Coverage& c : {linear, drawn}) {
    EXPECT_EQ(c.runs, 10000);
    EXPECT_GE(c.of_step(), 0.88);
    EXPECT_LE(c.of_step(), 0.92);
    EXPECT_GE(c.of_speedup(), 0.88);
    EXPECT_LE(c.of_speedup(), 0.92);
  }
}

}  // namespace
}  // namespace ddpx
