// Against NCCL's own rule for its two binary trees, host by host (src/graph/trees.cc).
#include "model/tree_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/nccl.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

// ncclGetBtree: the parent of every host but 0 in a binary tree that alternates leaves and nodes.
int parent_of(int host, int hosts) {
  int bit = 1;
  while ((bit & host) == 0) bit <<= 1;
  const int up = (host ^ bit) | (bit << 1);
  return up >= hosts ? host ^ bit : up;
}

// ncclGetDtree: the second tree is the first mirrored, or shifted by one where the count is odd. Of
// each tree's half an edge carries all, up from child to parent and down again.
double busiest(int hosts) {
  std::vector<double> sent(static_cast<std::size_t>(hosts));
  for (const bool second : {false, true}) {
    const auto place = [&](int host) {
      if (!second) return static_cast<std::size_t>(host);
      return static_cast<std::size_t>(hosts % 2 == 0 ? hosts - 1 - host : (host + 1) % hosts);
    };
    for (int host = 1; host < hosts; ++host) {
      sent[place(host)] += 0.5;
      sent[place(parent_of(host, hosts))] += 0.5;
    }
  }
  return *std::max_element(sent.begin(), sent.end());
}

TEST(TreeWire, the_busiest_host_sends_what_its_edges_in_both_trees_carry) {
  for (int hosts = 2; hosts <= 70; ++hosts)
    EXPECT_DOUBLE_EQ(tree_sends(hosts), busiest(hosts)) << hosts;
  test::expect_input_error([] { static_cast<void>(tree_sends(1)); }, {"at least two"});
}

// 2(N-1)/N over two hosts, 4(N-1)/(3N) over three, and no algorithm that adds up in the hosts alone
// counts more than (N-1)/N x h/(h-1): all but one host's sums must leave their host, and come back.
TEST(TreeWire, bus_bandwidth_beyond_the_wire_is_what_a_ring_would_have_sent_more) {
  EXPECT_DOUBLE_EQ(most_over_wire(2, 2), 1);
  EXPECT_DOUBLE_EQ(most_over_wire(2, 4), 1.5);
  EXPECT_DOUBLE_EQ(most_over_wire(2, 16), 1.875);
  EXPECT_DOUBLE_EQ(most_over_wire(3, 3), 1);
  EXPECT_DOUBLE_EQ(most_over_wire(3, 24), 4.0 / 3 * 23 / 24);
  EXPECT_DOUBLE_EQ(most_over_wire(4, 32), 1);
  for (int hosts = 2; hosts <= 64; ++hosts) {
    EXPECT_EQ(most_over_wire(hosts, hosts), 1) << hosts;  // one rank each
    for (int each = 1; each <= 16; ++each) {
      const double n = hosts * each;
      EXPECT_LE(most_over_wire(hosts, hosts * each), (n - 1) / n * hosts / (hosts - 1) + 1e-12);
    }
  }
}

// The forecast's own model, where nothing but the wire bounds it.
TEST(TreeWire, the_model_of_a_cluster_counts_as_much) {
  for (int nodes = 2; nodes <= 5; ++nodes) {
    NcclTopology topology;
    topology.generation = GpuGeneration::hopper;
    topology.nodes = nodes;
    topology.ranks_per_node = 8;
    topology.channel_inside = BytesPerSecond(30e9);
    topology.channel_between = topology.channel_inside;
    topology.wire = BytesPerSecond(10e9);
    double most = 0;
    for (const NcclCost& cost : nccl_costs(Collective::all_reduce, topology))
      most = std::max(most, cost.bandwidth.value());
    EXPECT_NEAR(most * bus_factor(Collective::all_reduce, 8 * nodes) / 10e9,
                most_over_wire(nodes, 8 * nodes), 1e-9)
        << nodes;
  }
}

}  // namespace
}  // namespace ddpx
