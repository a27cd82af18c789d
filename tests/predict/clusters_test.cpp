#include "predict/clusters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "predict/check_link.hpp"
#include "predict/link_words.hpp"

namespace ddpx {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Link figures(const std::string& name, Topology topology, double gigabytes, double microseconds) {
  Link link;
  link.name = name;
  link.topology = topology;
  link.latency = {Seconds(microseconds * 1e-6), 0.1, ""};
  link.large_latency = link.latency;
  link.bandwidth = {BytesPerSecond(gigabytes * 1e9), 0.05, ""};
  link.per_gpu = topology == Topology::network && gigabytes > 10;
  return link;
}

const Link kNvlink = figures("nvlink4", Topology::nvlink, 309, 8.5);
const Link kNarrow = figures("efa-3200", Topology::network, 45.8, 55);
const std::vector<Link> kTable{kNvlink, figures("pcie4", Topology::pcie_host, 10, 9), kNarrow,
                               figures("tcp-100gbe", Topology::network, 5, 60)};
constexpr NodeLayout kTwoOfEight{2, 8};

MeasuredLink of(double gigabytes, const NodeLayout& layout) {
  MeasuredLink measured{"all_reduce", layout.gpus(), BytesPerSecond(gigabytes * 1e9)};
  measured.hosts = layout.nodes;
  measured.ranks_per_host = layout.gpus_per_node;
  return measured;
}

LinkCheck check(double gigabytes) {
  return check_link(of(gigabytes, kTwoOfEight), two_level(kNvlink, kNarrow, kTwoOfEight),
                    alternatives({kNvlink, kNarrow, kTwoOfEight, std::nullopt}, kTable));
}

std::vector<std::string> names(const std::vector<Link>& links) {
  std::vector<std::string> names;
  for (const Link& link : links) names.push_back(link.name);
  return names;
}

TEST(Clusters, an_alternative_changes_one_thing_of_the_same_shape) {
  const auto links = alternatives({kNvlink, kNarrow, kTwoOfEight, std::nullopt}, kTable);
  for (const Link& link : links) {
    EXPECT_TRUE(has_inside(link)) << link.name;
    EXPECT_EQ(link.curves.front().ranks, 16);
  }
  EXPECT_THAT(names(links),
              testing::UnorderedElementsAre("nvlink4+tcp-100gbe", "pcie4+efa-3200",
                                            "nvlink4+efa-3200 with 1 NIC in a node",
                                            "nvlink4+efa-3200 with 2 NICs in a node",
                                            "nvlink4+efa-3200 with 4 NICs in a node"));
  const auto one = alternatives({kNvlink, kNarrow, kTwoOfEight, 1}, kTable);
  EXPECT_THAT(names(one), Not(Contains(HasSubstr("NIC"))));  // there is no fewer than one
}

// A tree over two nodes of eight counts 1.875 times the wire (tree_wire.hpp): one NIC of 45.8 GB/s
// gives 86 GB/s, TCP of 100 Gb/s 9.4. Neither is a link of one level that happens to give as much.
TEST(Clusters, a_figure_of_nodes_looks_like_nodes) {
  const LinkCheck nic = check(84);
  EXPECT_EQ(nic.standing, Standing::below);
  ASSERT_TRUE(nic.looks_like);
  EXPECT_EQ(nic.looks_like->name, "nvlink4+efa-3200 with 1 NIC in a node");
  EXPECT_LE(nic.looks_like->band.usual.value(), 1.875 * 45.8e9);  // less NCCL's 0.9 for trees
  EXPECT_THAT(nic.faults.front(), HasSubstr("several GPUs on one NIC"));
  EXPECT_GE(nic.looks_like->band.usual.value(), 0.85 * 1.875 * 45.8e9);
  const LinkCheck tcp = check(9.6);
  ASSERT_TRUE(tcp.looks_like);
  EXPECT_EQ(tcp.looks_like->name, "nvlink4+tcp-100gbe");
  EXPECT_THAT(tcp.faults.front(), HasSubstr("fell back to TCP"));
}

// 46 GB/s are what one GPU's NIC gives, and no cluster of the named link gives that little.
TEST(Clusters, the_level_that_was_named_is_never_what_a_figure_looks_like) {
  const LinkCheck slow = check(46);
  EXPECT_EQ(slow.standing, Standing::below);
  EXPECT_THAT(slow.text, Not(HasSubstr("what efa-3200 gives")));
  EXPECT_THAT(slow.text, Not(HasSubstr("what nvlink4 gives")));
}

TEST(Clusters, faults_inside_a_node_come_first_where_that_is_what_differs) {
  const auto links = alternatives({kNvlink, kNarrow, kTwoOfEight, std::nullopt}, kTable);
  const auto host = std::find_if(links.begin(), links.end(),
                                 [](const Link& link) { return link.name == "pcie4+efa-3200"; });
  ASSERT_NE(host, links.end());
  // Without TCP, which gives as much and comes first.
  const LinkCheck slow =
      check_link(of(band_of(*host, 16).usual.value() / 1e9, kTwoOfEight),
                 two_level(kNvlink, kNarrow, kTwoOfEight), std::vector<Link>{*host});
  ASSERT_TRUE(slow.looks_like);
  EXPECT_EQ(slow.looks_like->name, "pcie4+efa-3200");
  EXPECT_THAT(slow.faults.front(), HasSubstr("NVLink"));
  EXPECT_THAT(slow.faults, Contains(HasSubstr("fell back to TCP")));
  EXPECT_THAT(slow.faults, Contains(HasSubstr("nvidia-smi nvlink")));
}

Link with_peak(Link link, double gigabytes) {
  link.peak = BytesPerSecond(gigabytes * 1e9);
  return link;
}

// One NIC of 50 GB/s a node: 50 x 2 x 15/16 over two hosts, 50 x 4/3 x 23/24 over three, 50 over
// four; eight NICs carry 400, and an NVLink of 300 GB/s less than a tree would count over them.
TEST(Clusters, a_band_ends_at_what_wire_and_inside_carry) {
  const Link wire = with_peak(kNarrow, 50);
  const Link slow = with_peak(figures("nvlink3", Topology::nvlink, 195, 11), 300);
  const auto high = [&](const Link& inside, int nodes, std::optional<int> nics) {
    return band_of(two_level(inside, wire, {nodes, 8}, nics), 8 * nodes).high.value() / 1e9;
  };
  EXPECT_NEAR(high(slow, 2, 1), 93.75, 0.01);
  EXPECT_NEAR(high(slow, 3, 1), 63.89, 0.01);
  EXPECT_NEAR(high(slow, 4, 1), 50, 0.01);
  EXPECT_NEAR(high(slow, 2, 8), 300, 0.01);
  // Eight H100 whose switch adds up pass 450 GB/s: 476 on eight by NCCL's model, of which sixteen
  // count 15/14 as much.
  EXPECT_NEAR(high(with_peak(kNvlink, 450), 2, 16), 476 * 1.08 * 15 / 14, 6);
}

TEST(Clusters, the_limit_is_what_a_wider_wire_would_not_change) {
  const auto limit = [](const Link& inside, std::optional<int> nics) {
    return limit_of(two_level(inside, kNarrow, kTwoOfEight, nics));
  };
  EXPECT_EQ(limit(kNvlink, 1), "the nodes' NICs");
  EXPECT_EQ(limit(kNvlink, 32), "the NVLinks of one GPU, inside a node");
  EXPECT_THAT(limit(kTable[1], std::nullopt), HasSubstr("host memory"));
}

// Eight NICs of InfiniBand are not what sockets go over: 1.875 x 5 GB/s of one Ethernet port.
TEST(Clusters, sockets_have_no_use_for_the_other_networks_nics) {
  for (const std::optional<int> nics : {std::optional<int>(), std::optional<int>(8)}) {
    const auto links = alternatives({kNvlink, kNarrow, kTwoOfEight, nics}, kTable);
    EXPECT_LE(band_of(links.front(), 16).usual.value(), 1.875 * 5e9) << links.front().name;
  }
}

TEST(Clusters, nodes_become_no_nodes_of_another_vendors_network) {
  const Link ndr = figures("infiniband-ndr", Topology::network, 46, 18);
  const auto links = alternatives({kTable[1], ndr, kTwoOfEight, 1}, kTable);
  EXPECT_THAT(names(links), testing::ElementsAre("pcie4+tcp-100gbe"));  // nor wins NVLink
}

TEST(Clusters, every_cluster_is_every_network_with_every_link_inside) {
  EXPECT_THAT(names(every_cluster(kTwoOfEight, kTable)),
              testing::ElementsAre("nvlink4+efa-3200", "pcie4+efa-3200", "nvlink4+tcp-100gbe",
                                   "pcie4+tcp-100gbe"));
  EXPECT_THAT(names(every_cluster({2, 1}, kTable)), testing::ElementsAre("efa-3200", "tcp-100gbe"));
  const LinkCheck unnamed = check_link(of(300, kTwoOfEight), every_cluster(kTwoOfEight, kTable));
  EXPECT_THAT(unnamed.text, HasSubstr("efa-3200 between nodes, inside: nvlink4"));
  ASSERT_EQ(unnamed.candidates.size(), 1U);
  EXPECT_EQ(unnamed.candidates.front().name, "nvlink4+efa-3200");
}

}  // namespace
}  // namespace ddpx
