// Against values worked out by hand from NCCL's tuning.cc (2.30) for graphs of real machines.
#include "model/nccl.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

NcclTopology h100(int nodes, int per_node, int channels, double channel_gb) {
  NcclTopology t;
  t.generation = GpuGeneration::hopper;
  t.nodes = nodes;
  t.ranks_per_node = per_node;
  t.channels = channels;
  t.channel_inside = BytesPerSecond(channel_gb * 1e9);
  t.channel_between = t.channel_inside;
  return t;
}

struct Expected {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double microseconds;
  double gigabytes;
};

void expect_costs(Collective kind, const NcclTopology& topology,
                  const std::vector<Expected>& expected) {
  const std::vector<NcclCost> costs = nccl_costs(kind, topology);
  for (const Expected& e : expected) {
    bool found = false;
    for (const NcclCost& c : costs) {
      if (c.algorithm != e.algorithm || c.protocol != e.protocol) continue;
      found = true;
      EXPECT_NEAR(c.latency.value() * 1e6, e.microseconds, 0.05)
          << name(e.algorithm) << ' ' << name(e.protocol);
      EXPECT_NEAR(c.bandwidth.value() / 1e9, e.gigabytes, 0.006 * e.gigabytes)
          << name(e.algorithm) << ' ' << name(e.protocol);
    }
    EXPECT_TRUE(found) << name(e.algorithm) << ' ' << name(e.protocol);
  }
}

constexpr auto kRing = NcclAlgorithm::ring;
constexpr auto kTree = NcclAlgorithm::tree;
constexpr auto kLl = NcclProtocol::ll;
constexpr auto kLl128 = NcclProtocol::ll128;
constexpr auto kSimple = NcclProtocol::simple;

TEST(Nccl, two_h200_of_one_node) {
  expect_costs(Collective::all_reduce, h100(1, 2, 12, 30),
               {{kRing, kLl, 7.8, 141},
                {kRing, kLl128, 17.8, 331.2},
                {kRing, kSimple, 15.2, 360},
                {kTree, kLl, 8.0, 43.58},
                {kTree, kLl128, 16.5, 128.8},
                {kTree, kSimple, 16.4, 165.6}});
  expect_costs(Collective::all_gather, h100(1, 2, 12, 30),
               {{kRing, kLl, 7.2, 282}, {kRing, kLl128, 15.9, 662.4}, {kRing, kSimple, 11.8, 720}});
}

TEST(Nccl, eight_h200_of_one_node) {
  expect_costs(Collective::all_reduce, h100(1, 8, 12, 30),
               {{kRing, kLl, 15.0, 80.57},
                {kRing, kLl128, 40.6, 189.26},
                {kRing, kSimple, 56.0, 205.71},
                {kTree, kLl, 15.2, 43.58},
                {kTree, kLl128, 31.5, 128.8},
                {kTree, kSimple, 64.4, 165.6}});
  expect_costs(
      Collective::reduce_scatter, h100(1, 8, 12, 30),
      {{kRing, kLl, 10.8, 161.14}, {kRing, kLl128, 27.3, 378.51}, {kRing, kSimple, 32.2, 411.43}});
}

TEST(Nccl, two_gpus_through_host_memory_have_no_ll128) {
  NcclTopology t = h100(1, 2, 2, 20);
  t.nvlink = false;
  expect_costs(Collective::all_reduce, t,
               {{kRing, kLl, 8.6, 20},
                {kRing, kSimple, 19.8, 40},
                {kTree, kLl, 8.8, 4.12},
                {kTree, kSimple, 16.4, 15.64}});
  for (const NcclCost& c : nccl_costs(Collective::all_reduce, t)) EXPECT_NE(c.protocol, kLl128);
}

TEST(Nccl, sixteen_h100_of_two_nodes_and_64_of_eight) {
  expect_costs(Collective::all_reduce, h100(2, 8, 8, 48),
               {{kRing, kLl, 40.0, 20.8},
                {kRing, kLl128, 75.2, 156.59},
                {kRing, kSimple, 131.6, 204.8},
                {kTree, kLl, 25.2, 19.5},
                {kTree, kLl128, 48.5, 146.8},
                {kTree, kSimple, 92.4, 165.6}});
  expect_costs(Collective::all_reduce, h100(8, 8, 8, 48),
               {{kRing, kLl, 156.4, 10.36},
                {kRing, kLl128, 282.8, 149.13},
                {kRing, kSimple, 585.2, 195.05},
                {kTree, kLl, 45.2, 10.2},
                {kTree, kLl128, 82.5, 116},
                {kTree, kSimple, 148.4, 144}});
}

// NCCL's winners: on two H200 LL up to some 1.7 MB, then Simple; LL128 never.
TEST(Nccl, chooses_the_cheapest_by_size) {
  const NcclTopology two = h100(1, 2, 12, 30);
  const auto costs = nccl_costs(Collective::all_reduce, two);
  const auto time = [&](double bytes) {
    return nccl_time(nccl_choice(costs, Bytes(bytes), two), Bytes(bytes), two).value() * 1e6;
  };
  EXPECT_EQ(nccl_choice(costs, Bytes(1.6e6), two).protocol, kLl);
  EXPECT_EQ(nccl_choice(costs, Bytes(1.9e6), two).protocol, kSimple);
  EXPECT_NEAR(time(1 << 20), 15.2, 0.1);
  EXPECT_NEAR(time(4 << 20), 26.9, 0.1);
  EXPECT_NEAR(time(25 << 20), 88.0, 0.2);
  EXPECT_NEAR(time(256 << 20), 761, 1);
  const NcclTopology eight = h100(1, 8, 12, 30);
  const auto of_eight = nccl_costs(Collective::all_reduce, eight);
  EXPECT_EQ(nccl_choice(of_eight, Bytes(2e6), eight).protocol, kLl);
  EXPECT_EQ(nccl_choice(of_eight, Bytes(1.5e7), eight).protocol, kLl128);
  EXPECT_EQ(nccl_choice(of_eight, Bytes(1e8), eight).protocol, kSimple);
}

// 8 H200 with NVLS on: 480 GB/s of bus bandwidth were measured, which is above one GPU's link rate
// because the switch reduces.
TEST(Nccl, the_switch_reduces_where_eight_gpus_share_one) {
  NcclTopology t = h100(1, 8, 12, 30);
  t.nvls_head = BytesPerSecond(40e9);
  const auto costs = nccl_costs(Collective::all_reduce, t);
  const NcclCost& choice = nccl_choice(costs, Bytes(8.6e9), t);
  EXPECT_EQ(choice.algorithm, NcclAlgorithm::nvls);
  EXPECT_NEAR(choice.bandwidth.value() * bus_factor(Collective::all_reduce, 8) / 1e9, 476, 1);
}

TEST(Nccl, a_wire_bounds_rings_once_and_trees_of_two_nodes_twice) {
  NcclTopology t = h100(2, 8, 8, 48);
  t.wire = BytesPerSecond(50e9);
  expect_costs(Collective::all_reduce, t,
               {{kRing, kSimple, 131.6, 50 * 16 / 30.0}, {kTree, kSimple, 92.4, 50}});
  t.nodes = 4;
  expect_costs(Collective::all_reduce, t, {{kTree, kSimple, 120.4, 25}});
}

TEST(Nccl, one_rank_is_refused) {
  test::expect_input_error(
      [] { static_cast<void>(nccl_costs(Collective::all_reduce, h100(1, 1, 1, 1))); },
      {"at least two"});
}

}  // namespace
}  // namespace ddpx
