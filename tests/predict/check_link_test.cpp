#include "predict/check_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "predict/link_text.hpp"

namespace ddpx {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Link entry(const std::string& name, Topology topology, double low, double usual, double high,
           double peak) {
  Link link;
  link.name = name;
  link.topology = topology;
  link.latency = {Seconds(1e-5), 0.1, ""};
  link.large_latency = link.latency;
  link.bandwidth = {BytesPerSecond(usual * 1e9), 0.05, ""};
  link.bandwidth_low = BytesPerSecond(low * 1e9);
  link.bandwidth_high = BytesPerSecond(high * 1e9);
  link.peak = BytesPerSecond(peak * 1e9);
  return link;
}

// Inside a host.
const std::vector<Link> kInside{entry("nvlink4", Topology::nvlink, 296, 312, 340, 450),
                                entry("pcie4", Topology::pcie_host, 8, 10, 14, 31.5),
                                entry("pcie4-p2p", Topology::pcie, 17, 20.5, 24, 31.5)};

MeasuredLink of(double gigabytes, int ranks = 2) {
  return {"all_reduce on " + std::to_string(ranks) + " ranks", ranks,
          BytesPerSecond(gigabytes * 1e9)};
}

void expect_80_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(CheckLink, a_figure_inside_the_band_is_right) {
  const LinkCheck check = check_link(of(301), kInside[0], kInside);
  EXPECT_EQ(check.standing, Standing::within);
  EXPECT_THAT(check.text, HasSubstr("right for such a box"));
  expect_80_columns(check.text);
}

TEST(CheckLink, below_it_names_what_it_looks_like_and_the_likely_faults) {
  const LinkCheck check = check_link(of(10.4), kInside[2], kInside);
  EXPECT_EQ(check.standing, Standing::below);
  EXPECT_THAT(check.text, HasSubstr("what pcie4 gives"));
  EXPECT_THAT(check.text, HasSubstr("IOMMU or ACS"));
  expect_80_columns(check.text);
}

TEST(CheckLink, copies_of_which_pairs_are_missing_or_moved_nothing_are_not_called_right) {
  MeasuredLink copies{"copies between GPUs", 2, BytesPerSecond(390e9)};
  copies.copies = true;
  EXPECT_THAT(check_link(copies, kInside[0], kInside).text, HasSubstr("right for such a box"));
  copies.incomplete = true;
  const LinkCheck cut = check_link(copies, kInside[0], kInside);
  EXPECT_THAT(cut.text, AllOf(HasSubstr("of those that are missing"), Not(HasSubstr("is right"))));
  expect_80_columns(cut.text);
  copies.dead = "GPU 0 to GPU 1";
  const LinkCheck dead = check_link(copies, kInside[0], kInside);
  EXPECT_THAT(dead.text, AllOf(HasSubstr("GPU 0 to GPU 1. Such a pair does not work"),
                               Not(HasSubstr("is right"))));
  EXPECT_EQ(dead.standing, Standing::below);
  expect_80_columns(dead.text);
}

TEST(CheckLink, latency_is_no_measure_of_a_link) {
  MeasuredLink measured = of(301);
  measured.latency_share = 0.1;
  EXPECT_THAT(check_link(measured, kInside[0], kInside).text, Not(HasSubstr("latency")));
  measured.latency_share = 0.7;
  EXPECT_THAT(check_link(measured, kInside[0], kInside).text, HasSubstr("70 % of that time"));
  EXPECT_THAT(check_link(measured, kInside).text, HasSubstr("latency more than"));
  measured.bus_bandwidth = BytesPerSecond(10e9);
  EXPECT_THAT(check_link(measured, kInside[0], kInside).text, HasSubstr("latency more than"));
  expect_80_columns(check_link(measured, kInside[0], kInside).text);
}

TEST(CheckLink, what_was_left_out_is_said_whatever_the_verdict) {
  for (const double gigabytes : {1.0, 301.0, 900.0}) {
    MeasuredLink measured = of(gigabytes);
    measured.notes = {"line 7 left out: time is nan"};
    EXPECT_THAT(check_link(measured, kInside[0], kInside).text, HasSubstr("Note: line 7 left out"));
    EXPECT_THAT(check_link(measured, kInside).text, HasSubstr("Note: line 7 left out"));
  }
}

TEST(CheckLink, a_curve_that_falls_is_flagged_even_inside_the_band) {
  MeasuredLink measured = of(301);
  measured.falls = true;
  EXPECT_THAT(check_link(measured, kInside[0], kInside).text, HasSubstr("smaller buckets"));
}

// 480 GB/s on 8 H100 or H200: the switch reduces, and bus bandwidth passes the links' 450.
TEST(CheckLink, what_a_switch_that_reduces_gives_is_right) {
  const LinkCheck check = check_link(of(480, 8), kInside[0], kInside);
  EXPECT_EQ(check.standing, Standing::within);
  EXPECT_TRUE(check.in_switch);
  EXPECT_THAT(check.text, HasSubstr("right for such a box with NVLS"));
  expect_80_columns(check.text);
  // The ring's figure is right too, and says what does not run.
  const LinkCheck ring = check_link(of(360, 8), kInside[0], kInside);
  EXPECT_EQ(ring.standing, Standing::within);
  EXPECT_FALSE(ring.in_switch);
  EXPECT_THAT(ring.text, HasSubstr("NVLS does not run"));
  EXPECT_EQ(check_link(of(700, 8), kInside[0], kInside).standing, Standing::above);
}

// NCCL's model: 8 heads x 40 x 0.85 x 7/8 x 2 GB/s = 476; it is never taken on two or four.
TEST(CheckLink, the_switch_reduces_among_eight_gpus_of_hopper_only) {
  const auto eight = in_switch_band(kInside[0], 8);
  ASSERT_TRUE(eight);
  EXPECT_NEAR(eight->usual.value(), 476e9, 5e9);  // and its latency at 1 GiB
  EXPECT_FALSE(in_switch_band(kInside[0], 4));
  EXPECT_FALSE(in_switch_band(kInside[0], 16));
  EXPECT_FALSE(in_switch_band(kInside[1], 8));
}

TEST(CheckLink, above_the_band_is_no_fault) {
  const LinkCheck check = check_link(of(480, 4), kInside[0], kInside);
  EXPECT_EQ(check.standing, Standing::above);
  EXPECT_THAT(check.text, HasSubstr("NVLS"));
}

// 1 MiB at 46 GB/s takes 23 us on a link of 10 us: nothing is wrong with it.
TEST(CheckLink, a_small_message_is_held_against_a_small_one) {
  MeasuredLink measured = of(46);
  measured.bytes = Bytes(1 << 20);
  const LinkCheck check = check_link(measured, kInside[0], kInside);
  EXPECT_LT(check.expected->band.usual.value(), 150e9);
  EXPECT_THAT(check.text, HasSubstr("at 1"));
  measured.bytes = Bytes(1 << 30);
  EXPECT_EQ(check_link(measured, kInside[0], kInside).standing, Standing::below);
}

// A ring counts no more bus bandwidth than its slowest hop carries (31.5 GB/s of PCIe 4 x16, 25 of
// HDR InfiniBand), however unsure the way to sixteen GPUs is; over hosts of one rank each a tree
// sends as much (tree_wire.hpp).
TEST(CheckLink, no_band_reaches_beyond_what_the_link_carries) {
  EXPECT_EQ(band_of(kInside[1], 16).high, BytesPerSecond(31.5e9));
  EXPECT_EQ(band_of(kInside[2], 16).high, BytesPerSecond(31.5e9));
  EXPECT_LT(band_of(kInside[2], 2).high, BytesPerSecond(31.5e9));
  const Link wire = entry("hdr", Topology::network, 20, 21, 22, 25);
  for (const int ranks : {2, 3, 8, 64})
    EXPECT_LE(band_of(wire, ranks).high, BytesPerSecond(25e9)) << ranks;
  EXPECT_EQ(band_of(wire, 64).high, BytesPerSecond(25e9));
  EXPECT_EQ(check_link(of(30, 2), wire, kInside).standing, Standing::above);
  EXPECT_TRUE(check_link(of(45.7, 16), kInside).candidates.empty());
}

// 25 GB/s with one standard error of 5 %: 25 x (1 + 1.645 x 0.05) = 27.06, on any count.
TEST(CheckLink, a_figure_that_was_reached_is_not_added_to) {
  const Link figures = link_from_figures("--link", "25GB/s,10us");
  for (const int ranks : {2, 16, 256}) {
    EXPECT_LE(band_of(figures, ranks).high.value(), 27.06e9) << ranks;
    EXPECT_EQ(check_link(of(40, ranks), figures, kInside).standing, Standing::above);
  }
  const LinkCheck above = check_link(of(40, 16), figures, kInside);
  EXPECT_THAT(above.text, AllOf(HasSubstr("the limit is the bandwidth given"),
                                Not(HasSubstr("SHARP")), Not(HasSubstr("NVLS"))));
  MeasuredLink one_host = of(10, 8);
  one_host.hosts = 1;
  EXPECT_THAT(check_link(one_host, figures, kInside).faults, Each(Not(HasSubstr("TCP"))));
}

// 50 us of a message of 8 GPUs is no reason to look for a switch: NCCL's 25 us for NVLS are its
// own.
TEST(CheckLink, nothing_is_said_of_a_switch_where_latency_decides) {
  MeasuredLink small = of(0.28, 8);
  small.bytes = Bytes(8192);
  small.latency_share = 0.95;
  EXPECT_THAT(check_link(small, kInside[0], kInside).text, Not(HasSubstr("NVLS")));
  EXPECT_THAT(check_link(small, kInside).text, Not(HasSubstr("NVLS")));
  MeasuredLink large = of(360, 8);
  large.latency_share = 0.6;
  EXPECT_THAT(check_link(large, kInside[0], kInside).text, Not(HasSubstr("NVLS")));
  large.latency_share = 0.01;
  EXPECT_THAT(check_link(large, kInside[0], kInside).text, HasSubstr("NVLS does not run"));
}

std::vector<std::string> likes(const LinkCheck& check) {
  std::vector<std::string> names;
  if (check.looks_like) names.push_back(check.looks_like->name);
  for (const LinkBand& like : check.also_like) names.push_back(like.name);
  return names;
}

// Of 10 GB/s where 20.5 are usual: a slot of half the lanes, none of it NVLink, and no faster slot.
TEST(CheckLink, all_that_a_link_may_have_become_is_named_nearest_first) {
  const std::vector<Link> table{entry("bridge", Topology::nvlink, 9, 10, 11, 50),
                                entry("pcie4-p2p", Topology::pcie, 17, 20.5, 24, 31.5),
                                entry("pcie5", Topology::pcie_host, 9, 28, 34, 63),
                                entry("pcie3", Topology::pcie_host, 7, 9, 11, 15.8),
                                entry("pcie3-p2p", Topology::pcie, 9.4, 10.8, 12.2, 15.8),
                                entry("pcie4-x8-p2p", Topology::pcie, 7.6, 10.4, 13.2, 15.8),
                                entry("pcie4", Topology::pcie_host, 3.8, 12, 16.2, 31.5),
                                entry("tcp-100gbe", Topology::network, 9, 10, 11, 12.5)};
  const LinkCheck check = check_link(of(10), table[1], table);
  EXPECT_THAT(likes(check), ElementsAre("pcie4-x8-p2p", "pcie3-p2p", "pcie3", "pcie4"));
  std::string words = check.text;
  std::replace(words.begin(), words.end(), '\n', ' ');
  EXPECT_THAT(words, HasSubstr("It is what pcie4-x8-p2p gives (10.4 GB/s), or pcie3-p2p (10.8 "
                               "GB/s), or pcie3 (9.00 GB/s), and 1 more."));
  expect_80_columns(check.text);
}

// NCCL goes over sockets where it finds no verbs (docs: NCCL_IB_DISABLE, NET/Socket); InfiniBand
// does not become Amazon's EFA.
TEST(CheckLink, between_nodes_sockets_come_first_where_they_give_as_much) {
  const std::vector<Link> table{entry("infiniband-ndr", Topology::network, 42, 46, 50, 50),
                                entry("infiniband-hdr", Topology::network, 4, 6, 25, 25),
                                entry("efa-400", Topology::network, 4, 6, 7, 6.3),
                                entry("tcp-100gbe", Topology::network, 3.8, 5, 6.2, 12.5)};
  const LinkCheck check = check_link(of(6), table[0], table);
  EXPECT_THAT(likes(check), ElementsAre("tcp-100gbe", "infiniband-hdr"));
  EXPECT_THAT(check.faults.front(), HasSubstr("fell back to TCP"));
  // Of what is TCP already no fall-back is said.
  const LinkCheck tcp = check_link(of(2), table[3], table);
  EXPECT_THAT(tcp.faults, Each(Not(HasSubstr("fell back"))));
}

TEST(CheckLink, without_a_name_the_links_it_may_be_are_listed) {
  EXPECT_THAT(check_link(of(0.01), kInside).text, HasSubstr("No link of the table"));
  const LinkCheck check = check_link(of(20), kInside);
  EXPECT_THAT(check.text, HasSubstr("- pcie4-p2p"));
  EXPECT_THAT(check.text, testing::Not(HasSubstr("- nvlink4")));
  expect_80_columns(check.text);
}

TEST(CheckLink, copies_are_held_against_one_direction_of_the_link) {
  MeasuredLink copies{"copies between GPUs", 2, BytesPerSecond(396e9)};
  copies.copies = true;
  EXPECT_EQ(check_link(copies, kInside[0], kInside).standing, Standing::within);
  copies.bus_bandwidth = BytesPerSecond(100e9);
  EXPECT_EQ(check_link(copies, kInside[0], kInside).standing, Standing::below);
}

TEST(CheckLink, a_topology_matrix_gives_the_slowest_path_and_what_to_expect) {
  const LinkCheck check = expected_of_paths(
      {{"X", "PHB", "SYS"}, {"PHB", "X", "SYS"}, {"SYS", "SYS", "X"}}, 2, kInside);
  const std::string& text = check.text;
  ASSERT_TRUE(check.paths);
  EXPECT_EQ(check.paths->slowest, "SYS");
  EXPECT_EQ(check.candidates.size(), 2U);
  EXPECT_THAT(text, HasSubstr("slowest pair is SYS"));
  EXPECT_THAT(text, HasSubstr("- pcie4-p2p"));
  EXPECT_THAT(text, HasSubstr("2 NICs"));
  expect_80_columns(text);
  EXPECT_THAT(expected_of_paths({{"X", "NV18"}, {"NV18", "X"}}, 0, kInside).text,
              HasSubstr("NV18"));
  EXPECT_THAT(expected_of_paths({{"X"}}, 0, kInside).text, HasSubstr("no link to check"));
}

}  // namespace
}  // namespace ddpx
