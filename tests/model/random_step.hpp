// Steps drawn at random: machines, networks, links and strategies of every kind, for properties
// that hold of all of them.
#pragma once

#include <array>
#include <cmath>
#include <random>

#include "model/step.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx::test {

struct Setting {
  Machine machine;
  Link link;
  Network network;
  Job job;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  // Evenly in logarithms.
  double size(double low, double high) { return low * std::pow(high / low, between(0, 1)); }
  bool chance(double p) { return between(0, 1) < p; }
  int count(int low, int high) { return low + static_cast<int>(between(0, 1) * (high - low + 1)); }

 private:
  std::mt19937_64 engine_;
};

inline Setting random_setting(Random& random) {
  Setting s;
  s.network = random.chance(0.2)
                  ? gpt({.layers = random.count(1, 3),
                         .hidden = 64,
                         .heads = 4,
                         .sequence = 32,
                         .vocabulary = 500})
                  : mlp({.width = std::floor(random.size(16, 2048)), .depth = random.count(1, 9)});
  s.job.batch_per_rank = std::floor(random.size(8, 512));
  const double seconds = random.size(1e-6, 1e-3);
  s.machine = machine_for(
      s.network, s.job.batch_per_rank,
      {seconds, seconds * random.between(0.8, 1.3), seconds * random.between(0.8, 1.3)});
  s.machine.copy_bandwidth.value = BytesPerSecond(random.size(1e10, 4e12));
  s.machine.optimizer_bandwidth.value = s.machine.copy_bandwidth.value * 0.9;
  s.machine.kernel_gap.value = Seconds(random.chance(0.5) ? 1.5e-6 : 0);
  s.machine.device.multiprocessors = random.chance(0.7) ? random.count(20, 140) : 0;
  for (ProductPoint& p : s.machine.products) {
    if (random.chance(0.5))
      p.grid =
          KernelGrid{1.0 * random.count(1, 2000), 1.0 * random.count(1, 4), random.chance(0.1)};
  }
  if (random.chance(0.3))
    s.machine.memory_beside = Estimate<double>{random.between(1, 1.6), 0.05, ""};
  if (random.chance(0.3)) s.machine.sustained = Estimate<double>{random.between(1, 1.3), 0.05, ""};
  if (random.chance(0.3)) s.machine.boost = Estimate<double>{random.between(0.6, 1), 0.05, ""};
  if (random.chance(0.3))
    s.machine.power_window = Estimate<Seconds>{Seconds(random.size(1e-3, 1)), 0.5, ""};
  if (random.chance(0.3)) s.machine.rank_spread = random.between(0, 0.03);
  s.machine.hook_overlap = {random.between(0, 1), 0.2, ""};
  if (random.chance(0.5)) {
    HostCosts host;
    host.step_per_tensor = {Seconds(random.size(1e-7, 1e-4)), 0.08, ""};
    host.per_bucket.value = Seconds(random.size(1e-6, 1e-4));
    s.machine.host[static_cast<std::size_t>(Engine::torch)] = host;
  }
  s.link = line_link(random.size(1e-6, 1e-4), random.size(1e8, 3e11));
  s.link.channels = random.count(0, 24);
  s.link.beside_compute.value = random.between(1, 1.3);
  s.job.gpus = 1 << random.count(0, 4);
  if (random.chance(0.4)) {
    constexpr std::array kSharded{"fsdp",   "fsdp=block", "fsdp=block,reshard=no", "zero=1",
                                  "zero=2", "zero=3",     "zero=1,bucket-view",    "overlap=no"};
    s.job.strategy = parse_strategy(kSharded.at(static_cast<std::size_t>(random.count(0, 7))));
    if (s.job.gpus > 2 && random.chance(0.2)) {
      s.job.strategy = parse_strategy("fsdp=block");
      s.job.strategy.hybrid = HybridGroups{s.job.gpus / 2, 2};
      s.link.levels = {s.link, s.link};
    }
  } else {
    if (random.chance(0.3)) s.job.strategy.compression = DType::fp16;
    if (random.chance(0.5))
      s.job.strategy.buckets = BucketLimits::explicit_cap(Bytes(random.size(1e3, 1e8)));
    s.job.strategy.bucket_view = random.chance(0.3);
    s.job.strategy.sync = random.chance(0.9);
  }
  s.job.strategy.micro_batches = random.chance(0.3) ? random.count(2, 8) : 1;
  s.job.strategy.sync_every = s.job.strategy.sync && s.job.strategy.sharding == Sharding::none &&
                              s.job.strategy.micro_batches > 1 && random.chance(0.3);
  return s;
}

}  // namespace ddpx::test
