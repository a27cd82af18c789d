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

// A tree over two nodes counts twice the wire: one NIC of 45.8 GB/s gives 92 GB/s (two_level.hpp),
// TCP of 100 Gb/s 10. Neither is a link of one level that happens to give as much.
TEST(Clusters, a_figure_of_nodes_looks_like_nodes) {
  const LinkCheck nic = check(90);
  EXPECT_EQ(nic.standing, Standing::below);
  ASSERT_TRUE(nic.looks_like);
  EXPECT_EQ(nic.looks_like->name, "nvlink4+efa-3200 with 1 NIC in a node");
  EXPECT_LE(nic.looks_like->band.usual.value(), 2 * 45.8e9);  // less NCCL's 0.9 to 1 for trees
  EXPECT_GE(nic.looks_like->band.usual.value(), 0.9 * 2 * 45.8e9);
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
  const LinkCheck slow = check(band_of(*host, 16).usual.value() / 1e9);
  ASSERT_TRUE(slow.looks_like);
  EXPECT_EQ(slow.looks_like->name, "pcie4+efa-3200");
  EXPECT_THAT(slow.faults.front(), HasSubstr("NVLink"));
  EXPECT_THAT(slow.faults, Contains(HasSubstr("fell back to TCP")));
  EXPECT_THAT(slow.faults, Contains(HasSubstr("nvidia-smi nvlink")));
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
