#include "model/two_level.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

Link figures(const std::string& name, Topology topology, double gigabytes, double microseconds,
             bool per_gpu = false) {
  Link link;
  link.name = name;
  link.topology = topology;
  link.latency = {Seconds(microseconds * 1e-6), 0.1, ""};
  link.large_latency = link.latency;
  link.bandwidth = {BytesPerSecond(gigabytes * 1e9), 0.05, ""};
  link.per_gpu = per_gpu;
  return link;
}

const Link kNvlink = figures("nvlink4", Topology::nvlink, 312, 8.5);
const Link kNdr = figures("ndr", Topology::network, 46, 18, true);
const Link k50Gb = figures("50gb", Topology::network, 3.7, 18, true);
const Link kTcp = figures("tcp", Topology::network, 1.1, 60);

double seconds(const Link& link, double bytes, int ranks) {
  return price(link, {Collective::all_reduce, DType::fp32, Bytes(bytes), ranks}).time.value();
}

// One all-reduce of 1 GB over two nodes of H100, one NIC a GPU: 0.27 s with one GPU per node, 0.13
// with two, 0.067 with four (NVIDIA/nccl#1250): every doubling brings its NICs along.
TEST(TwoLevel, a_nic_per_gpu_makes_a_large_message_halve_with_the_gpus_per_node) {
  double last = seconds(two_level(kNvlink, k50Gb, {2, 1}), 1e9, 2);
  EXPECT_NEAR(last, 0.27, 0.1 * 0.27);
  for (int gpus : {2, 4}) {
    const double time = seconds(two_level(kNvlink, k50Gb, {2, gpus}), 1e9, 2 * gpus);
    EXPECT_NEAR(last / time, 2.0, 0.25) << gpus;
    last = time;
  }
}

// A log from 512 MiB on holds no latency, inside a node or between: 5.6 ms are its transfer, and a
// message of 8 B takes tens of microseconds either way.
TEST(TwoLevel, takes_no_latency_of_a_curve_that_holds_none) {
  const auto from_large = [](Topology topology, int ranks) {
    Link link;
    link.topology = topology;
    std::vector<CurvePoint> points;
    for (double bytes = 512 * 1048576.0; bytes < 9e9; bytes *= 2)
      points.push_back({Bytes(bytes), Seconds(38e-6 + bytes / 96e9), false, ""});
    link.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes{}, ranks},
                             std::vector<ProtocolLine>{}, points);
    return link;
  };
  const Link inside = from_large(Topology::nvlink, 8);
  const Link between = from_large(Topology::network, 2);
  const double known = seconds(two_level(kNvlink, kNdr, {4, 8}), 8, 32);
  EXPECT_LT(seconds(two_level(inside, kNdr, {4, 8}), 8, 32), 1.5 * known);
  const Link joined = two_level(kNvlink, between, {4, 8});
  EXPECT_LT(seconds(joined, 8, 32), 3 * known);
  EXPECT_GT(price(joined, {Collective::all_reduce, DType::fp32, Bytes(8), 32}).relative_error, 0.7);
}

TEST(TwoLevel, one_nic_for_all_is_the_wire_whatever_the_gpus) {
  // A tree of two nodes: 1 GB each way at 1.1 GB/s, and NCCL's 0.9 for trees of that size.
  for (int gpus : {1, 2, 8}) {
    const double time = seconds(two_level(kNvlink, kTcp, {2, gpus}), 1e9, 2 * gpus);
    EXPECT_GT(time, 0.99 / 1.1);
    EXPECT_LT(time, 2.0 / 1.1);
  }
}

// 16 H100 of two hosts with 8 NICs of 400 Gb/s, NCCL_ALGO=Ring: 8 GiB in 41.0 ms; 64 of eight hosts
// 43.2 ms (NVIDIA/nccl-tests#309).
TEST(TwoLevel, meets_public_times_of_two_and_eight_hosts) {
  EXPECT_NEAR(seconds(two_level(kNvlink, kNdr, {2, 8}), 8589934592.0, 16), 41.0e-3, 0.2 * 41.0e-3);
  EXPECT_NEAR(seconds(two_level(kNvlink, kNdr, {8, 8}), 8589934592.0, 64), 43.2e-3, 0.2 * 43.2e-3);
}

TEST(TwoLevel, two_nodes_are_slower_than_one_and_more_slower_still) {
  for (double bytes : {1e4, 1e6, 25e6, 1e9}) {
    const double one = seconds(kNvlink, bytes, 8);
    const double two = seconds(two_level(kNvlink, kTcp, {2, 8}), bytes, 16);
    const double eight = seconds(two_level(kNvlink, kTcp, {8, 8}), bytes, 64);
    EXPECT_GT(two, one);
    EXPECT_GT(eight, two);
  }
}

TEST(TwoLevel, no_slot_joins_nodes) {
  for (const Topology topology : {Topology::pcie, Topology::pcie_host}) {
    test::expect_input_error(
        [&] {
          static_cast<void>(two_level(kNvlink, figures("pcie4", topology, 20, 10), {2, 8}));
        },
        {"pcie4", "--inter-link"});
  }
}

TEST(TwoLevel, is_measured_as_a_whole_and_unsure) {
  const Link link = two_level(kNvlink, kNdr, {2, 8});
  EXPECT_EQ(link.name, "nvlink4+ndr");
  EXPECT_EQ(link.curves.size(), 3U);
  for (const Curve& curve : link.curves) {
    EXPECT_EQ(curve.ranks, 16);
    EXPECT_GT(curve.relative_error, 0.2);
  }
}

TEST(TwoLevel, meets_products_and_copies_as_the_link_inside_does) {
  Link inside = kNvlink;
  inside.beside_memory.value = 0.5;
  inside.beside_copies = {{1.2, 0.1, ""}, {1.3, 0.1, ""}, BytesPerSecond(8e9)};
  const Link link = two_level(inside, kNdr, {2, 8});
  EXPECT_EQ(link.beside_memory.value, 0.5);
  ASSERT_TRUE(link.beside_copies);
  EXPECT_EQ(link.beside_copies->collective.value, 1.2);
  EXPECT_EQ(link.beside_copies->copy.value, 1.3);
  EXPECT_EQ(link.beside_copies->rate, BytesPerSecond(8e9));
}

// NCCL on 16, 32 and 64 V100 with the EFA of 2019 ran rings: 163, 319 and 631 us at 8 B
// (gist.github.com/jacobkahn, July 2019). Which algorithm runs is not stated, so the interval of a
// small message must hold both.
TEST(TwoLevel, the_interval_of_small_messages_holds_rings_where_a_tree_is_forecast) {
  Link efa = figures("efa", Topology::network, 12, 85);
  efa.latency.relative_error = 0.45;
  const Link nvlink = figures("nvlink2", Topology::nvlink, 122, 12);
  double last = 0;
  for (const auto& [nodes, measured] : {std::pair{2, 163e-6}, {4, 319e-6}, {8, 631e-6}}) {
    const Link link = two_level(nvlink, efa, {nodes, 8}, 1);
    const CollectivePrice small =
        price(link, {Collective::all_reduce, DType::fp32, Bytes(1024), 8 * nodes});
    EXPECT_LT(std::abs(std::log(small.time.value() / measured)),
              kNormalQuantile90 * std::log1p(small.relative_error));
    EXPECT_GE(small.relative_error, last);
    last = small.relative_error;
  }
}

TEST(TwoLevel, a_large_message_is_as_unsure_as_the_wire_and_the_model_whatever_the_latency) {
  const Link sure = figures("sure", Topology::network, 12, 85);
  Link unsure = sure;
  unsure.latency.relative_error = 0.9;
  const CollectiveCall large{Collective::all_reduce, DType::fp32, Bytes(8.0 * (1 << 30)), 16};
  const double a = price(two_level(kNvlink, sure, {2, 8}, 1), large).relative_error;
  EXPECT_NEAR(a, std::hypot(0.05, kTwoLevelError), 0.01);
  EXPECT_NEAR(a, price(two_level(kNvlink, unsure, {2, 8}, 1), large).relative_error, 0.01);
}

// What two hosts of eight reach over a wire that they were measured on is what they reached, not
// what a tree would make of it once more.
TEST(TwoLevel, a_network_measured_over_such_nodes_gives_what_was_measured) {
  Link measured = figures("measured", Topology::network, 0, 20);
  const CollectiveCall call{Collective::all_reduce, DType::fp32, {}, 16};
  std::vector<CurvePoint> points;
  for (double bytes = 1 << 20; bytes <= 8e9; bytes *= 4)
    points.push_back({Bytes(bytes), Seconds(100e-6 + bytes * 1.875 / 20e9), false, ""});
  measured.curves.emplace_back(call, std::vector<ProtocolLine>{}, points);
  measured.curves.back().hosts = 2;
  const double bytes = 4e9;
  const double bus = bytes * 1.875 / seconds(two_level(kNvlink, measured, {2, 8}), bytes, 16);
  EXPECT_NEAR(bus / 20e9, 1, 0.15);  // and NCCL's 0.9 for trees
}

// A log of many hosts says how long a message of many hops takes; the wire between two is less.
TEST(TwoLevel, the_latency_of_a_log_is_carried_to_two_ranks) {
  const auto log = [](int ranks, double smallest) {
    Link link;
    link.name = "log";
    link.topology = Topology::network;
    const std::vector<CurvePoint> points{{Bytes(8), Seconds(smallest), false, ""},
                                         {Bytes(8.0 * (1 << 30)), Seconds(2), false, ""}};
    link.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes(), ranks},
                             std::vector<ProtocolLine>{}, points);
    return link;
  };
  const auto hop = [&](const Link& between) {
    return nccl_topology(kNvlink, between, {2, 8}, std::nullopt).hop_between.value();
  };
  // Half of it once, half per step: a tree over 16 has 2 x 4 steps where two ranks have 2.
  EXPECT_NEAR(hop(log(16, 100e-6)), hop(log(2, 100e-6 / (0.5 + 0.5 * 4))), 1e-9);
}

TEST(TwoLevel, refuses_one_node_and_levels_of_which_nothing_is_known) {
  test::expect_input_error(
      [] {
        static_cast<void>(two_level(kNvlink, kNdr, {1, 8}));
      },
      {"at least two nodes"});
  test::expect_input_error(
      [] {
        static_cast<void>(two_level(kNvlink, Link{}, {2, 8}));
      },
      {"measure one on two ranks"});
}

}  // namespace
}  // namespace ddpx
