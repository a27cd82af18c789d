// On every shipped machine more bandwidth never makes a step slower but by waves: see
// tests/model/bandwidth_test.cpp for the same of machines at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "io/file.hpp"
#include "io/machine_json.hpp"
#include "model/network_spec.hpp"
#include "predict/link_text.hpp"
#include "tests/model/wave_bound.hpp"

namespace ddpx {
namespace {

struct Hurt {
  Seconds by{};
  double fraction = 0;  // of the step over the slower link
};

// From 0.5 to 700 GB/s in steps of a twentieth: the most by which a step is longer than over any
// slower link.
Hurt hurt_by_bandwidth(const Machine& machine, const Network& network, const Job& job) {
  Hurt most;
  Seconds shortest{};
  for (double gigabytes = 0.5; gigabytes < 700; gigabytes *= 1.05) {
    std::array<char, 64> figures{};
    std::snprintf(figures.data(), figures.size(), "%.6gGB/s,10us", gigabytes);
    Link link = link_from_figures("--link", figures.data());
    if (job.strategy.hybrid) link.levels = {link, link};
    const Seconds step = StepModel(machine, link, network, job).run().total();
    const bool first = !(shortest > Seconds{});
    if (!first && step - shortest > most.by) most = {step - shortest, step / shortest - 1};
    shortest = first ? step : std::min(shortest, step);
  }
  return most;
}

// With grids known (h200x2) a product of 10 ms that comes a moment before a gather keeps it waiting
// and runs alone; a moment after it, it gives it multiprocessors and takes a seventh more: over a
// faster link the second may be the longer step, of a GPT with a large vocabulary under ZeRO-3 by
// 0.5 %. On a T4 waiting lets the clock rise, and no step is the shorter for it.
TEST(MoreBandwidth, of_shipped_machines_hurts_by_waves_alone) {
  constexpr std::array kStrategies{"ddp",  "zero=1",     "zero=2",   "zero=3",
                                   "fsdp", "fsdp=block", "hsdp=2x2", "ddp,accumulate=4"};
  constexpr std::array kNetworks{
      "mlp:width=1024,depth=8", "mlp:width=4096,depth=8",
      "gpt:layers=12,hidden=768,heads=12,sequence=1024,vocabulary=50257"};
  constexpr double kMost = 0.01;
  constexpr double kWithoutGrids = 2e-3;  // as of machines at random
  constexpr double kRounding = 1e-4;      // of a clock settled to some parts in a thousand
  for (const char* name :
       {"h200x2", "h200x2-torch", "h200x2-torch-steps", "t4x2", "t4x2-sustained"}) {
    const std::string file = "calibration/machines/" + std::string(name) + ".json";
    const Machine machine = io::machine_from_json(io::read_text(file), file);
    for (const char* spec : kNetworks) {
      const Network network = network_from(spec);
      for (const char* strategy : kStrategies) {
        Job job;
        job.strategy = parse_strategy(strategy);
        job.gpus = job.strategy.hybrid ? 4 : 2;
        job.batch_per_rank = std::string_view(spec).starts_with("gpt") ? 8 : 256;
        const Hurt hurt = hurt_by_bandwidth(machine, network, job);
        const std::string what = std::string(name) + " " + spec + " " + strategy;
        EXPECT_LE(hurt.fraction, machine.boost ? kRounding : kMost) << what;
        if (hurt.fraction <= kWithoutGrids) continue;
        const Link link = [&] {
          Link some = link_from_figures("--link", "10GB/s,10us");
          if (job.strategy.hybrid) some.levels = {some, some};
          return some;
        }();
        EXPECT_LE(hurt.by, test::lost_in_waves(machine, link, network, job)) << what;
        EXPECT_TRUE(std::any_of(machine.products.begin(), machine.products.end(),
                                [](const ProductPoint& point) { return point.grid.has_value(); }))
            << what;
      }
    }
  }
}

}  // namespace
}  // namespace ddpx
