// No interval says of a wire that it carries more than it does.
#include "model/most_counted.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/forecast.hpp"
#include "model/network_spec.hpp"
#include "model/paired.hpp"
#include "model/scaled_link.hpp"
#include "model/two_level.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

Link wire(Topology topology, double usual_gb, double peak_gb) {
  Link link;
  link.name = "wire";
  link.topology = topology;
  link.latency = {Seconds(20e-6), 0.2, ""};
  link.bandwidth = {BytesPerSecond(usual_gb * 1e9), 0.1, ""};
  link.peak = BytesPerSecond(peak_gb * 1e9);
  return link;
}

double least(const Link& link, Collective kind, double bytes, int ranks) {
  const CollectiveCall call{kind, DType::fp32, Bytes(bytes), ranks};
  return price(link, call).least.value();
}

// 10 Gb/s Ethernet: 28 GB on 16 ranks are 52.5 GB over each wire of 1.25 GB/s.
TEST(MostCounted, is_the_bytes_over_the_wire_at_its_peak) {
  const Link tcp = wire(Topology::network, 1.05, 1.25);
  EXPECT_NEAR(least(tcp, Collective::all_reduce, 28e9, 16), 42.0, 1e-9);
  EXPECT_NEAR(least(tcp, Collective::all_gather, 28e9, 16), 21.0, 1e-9);
  EXPECT_NEAR(least(with_bandwidth(tcp, 2), Collective::all_reduce, 28e9, 16), 21.0, 1e-9);
  Link unknown = tcp;
  unknown.peak = {};
  EXPECT_EQ(least(unknown, Collective::all_reduce, 28e9, 16), 0);
}

TEST(MostCounted, has_the_trees_bonus_over_two_hosts_of_several_ranks) {
  const Link inside = wire(Topology::nvlink, 309, 450);
  const Link nodes = two_level(inside, wire(Topology::network, 10, 12.5), {2, 8}, 1);
  EXPECT_NEAR(least(nodes, Collective::all_reduce, 1e9, 16), 1e9 / 12.5e9, 1e-9);
  EXPECT_NEAR(least(nodes, Collective::all_gather, 1e9, 16), 0.9375e9 / 12.5e9, 1e-9);
}

TEST(MostCounted, is_more_where_the_switch_adds_up) {
  const Link nvlink = wire(Topology::nvlink, 309, 450);
  EXPECT_GT(*most_counted(nvlink, Collective::all_reduce, 8), nvlink.peak);
  EXPECT_EQ(*most_counted(nvlink, Collective::all_reduce, 8, InSwitch::no), nvlink.peak);
}

TEST(MostCounted, bounds_the_fast_end_of_every_strategys_interval) {
  const Network network = mlp({.width = 1024, .depth = 8});
  Machine machine = test::machine_for(network, 64);
  machine.residual = 0.08;
  for (const Topology topology : {Topology::pcie, Topology::pcie_host, Topology::network}) {
    const Link link = wire(topology, 1.05e-3, 1.25e-3);  // steps of the machine are seconds
    for (const int gpus : {2, 4, 16}) {
      for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::fsdp_block}) {
        Job job;
        job.gpus = gpus;
        job.batch_per_rank = 64;
        job.strategy.sharding = sharding;
        const StepModel model(machine, link, network, job);
        for (const auto method : {IntervalMethod::linear, IntervalMethod::monte_carlo}) {
          ForecastOptions options;
          options.method = method;
          options.draws = 200;
          const Forecast f = forecast(machine, link, network, job, options);
          EXPECT_GE(f.step_time_s.low, model.least_exchange().value()) << gpus;
          EXPECT_LE(f.speedup.high, gpus * f.one_gpu_step_s * 1.5 / model.least_exchange().value());
          EXPECT_GT(model.least_exchange(), Seconds{});
        }
        EXPECT_GE(step_interval(shifted_steps(model), 0.08).low, model.least_exchange().value());
      }
    }
  }
}

// Where nobody knows what the wires carry, no link is faster than one that takes no time.
TEST(MostCounted, is_free_communication_at_most) {
  const Network network = mlp({.width = 1024, .depth = 8});
  Machine machine = test::machine_for(network, 64);
  machine.residual = 0;
  Link link = wire(Topology::pcie, 1e-3, 0);
  Job job;
  job.gpus = 16;
  job.batch_per_rank = 64;
  const StepModel model(machine, link, network, job);
  const double usual = model.run().total().value();
  Link free = link;
  free.latency.value = Seconds(1e-12);
  free.bandwidth.value = BytesPerSecond(1e18);
  const double least = StepModel(machine, free, network, job).run().total().value();
  ASSERT_GT(usual, 1.5 * least);
  const double moved = moved_step(model, Source::link, Side::down, usual);
  EXPECT_GE(usual * std::pow(moved / usual, kNormalQuantile90), least * (1 - 1e-6));
}

}  // namespace
}  // namespace ddpx
