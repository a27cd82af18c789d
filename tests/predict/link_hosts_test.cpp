// Measured links and the hosts their ranks were on: what --gpus and --inter-link may ask of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/topology_of.hpp"
#include "predict/setting.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Link measured(const std::string& name, int ranks, std::optional<int> hosts) {
  Link link;
  link.name = name;
  link.topology = hosts.value_or(1) > 1 ? Topology::network : Topology::nvlink;
  link.topology_assumed = hosts.value_or(1) == 1;
  const std::vector<CurvePoint> points{{Bytes(8), Seconds(1e-5), false, ""},
                                       {Bytes(1 << 30), Seconds(0.02), false, ""}};
  link.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes(), ranks},
                           std::vector<ProtocolLine>{}, points);
  link.curves.back().hosts = hosts;
  return link;
}

Link wire() {
  Link link;
  link.name = "wire";
  link.topology = Topology::network;
  link.latency = {Seconds(2e-5), 0.1, ""};
  link.bandwidth = {BytesPerSecond(20e9), 0.05, ""};
  return link;
}

Link figures() {
  Link link = wire();
  link.name = "nvlink";
  link.topology = Topology::nvlink;
  link.bandwidth.value = BytesPerSecond(200e9);
  return link;
}

Query query(Link link, NodeLayout layout, std::optional<Link> between = std::nullopt) {
  Query q;
  q.links = {std::move(link)};
  q.gpus = {layout};
  q.inter_link = std::move(between);
  return q;
}

void expect_refused(Query q, std::initializer_list<std::string_view> words) {
  test::expect_input_error(
      [&] {
        use_hosts(q);
        static_cast<void>(link_of(q, q.links.front(), q.gpus.front()));
      },
      words);
}

std::vector<std::string> warnings(Query q) {
  use_hosts(q);
  static_cast<void>(link_of(q, q.links.front(), q.gpus.front()));
  return q.warnings;
}

TEST(LinkHosts, ranks_of_one_host_are_no_nodes_though_the_counts_agree) {
  expect_refused(query(measured("log", 8, 1), {2, 4}),
                 {"--link", "'log' was measured on 8 ranks of one host", "2x4", "--inter-link"});
  expect_refused(query(measured("log", 8, 4), {2, 4}), {"--link", "8 ranks of 4 hosts", "2x4"});
  EXPECT_THAT(warnings(query(measured("log", 8, 2), {2, 4})), IsEmpty());
  // What was calibrated over NVLink, PCIe or host memory is of one host, whatever is written of it.
  Link known = measured("nvlink", 8, std::nullopt);
  known.topology_assumed = false;
  expect_refused(query(known, {2, 4}), {"--link", "8 ranks of one host"});
}

TEST(LinkHosts, what_is_not_known_of_hosts_is_said_to_be_assumed) {
  const Link log = measured("log", 8, std::nullopt);
  EXPECT_THAT(warnings(query(log, {2, 4})),
              ElementsAre(HasSubstr("does not say which hosts its ranks were on; taken as 2x4")));
  EXPECT_THAT(warnings(query(log, {1, 8})),
              ElementsAre(HasSubstr("taken as inside one host (nvlink, by its bandwidth)")));
  EXPECT_THAT(warnings(query(measured("log", 8, 1), {1, 8})), IsEmpty());
  EXPECT_THAT(warnings(query(wire(), {1, 8})), IsEmpty());
  EXPECT_THAT(warnings(query(measured("log", 8, 1), {2, 8}, log)),
              ElementsAre(HasSubstr("taken as one rank on each host")));
  EXPECT_THAT(warnings(query(log, {8, 1})),
              ElementsAre(HasSubstr("taken as one rank on each host")));
}

// 1024 ranks on hosts that the log does not name are no host's: the largest joins 72 by NVLink, 16
// by PCIe.
TEST(LinkHosts, more_ranks_than_a_host_joins_are_on_several) {
  EXPECT_EQ(topology_of({false, BytesPerSecond(20e9), 16}), Topology::pcie);
  EXPECT_EQ(topology_of({false, BytesPerSecond(20e9), 17}), Topology::network);
  EXPECT_EQ(topology_of({false, BytesPerSecond(300e9), 72}), Topology::nvlink);
  EXPECT_EQ(topology_of({false, BytesPerSecond(300e9), 1024}), Topology::network);
  Link log = measured("log", 1024, std::nullopt);
  log.topology = Topology::network;
  log.topology_assumed = true;
  expect_refused(query(log, {1, 1024}),
                 {"--gpus", "1024 is GPUs of one host", "'log' was measured on 1024 ranks of hosts",
                  "no host joins so many", "128x8"});
  EXPECT_THAT(warnings(query(log, {128, 8})), ElementsAre(HasSubstr("taken as 128x8 here")));
}

TEST(LinkHosts, a_level_that_a_log_does_not_show_is_refused) {
  expect_refused(query(measured("inside", 8, 1), {2, 8}, measured("log", 8, 1)),
                 {"--inter-link", "'log' was measured inside one host and joins no nodes"});
  expect_refused(query(measured("log", 16, 2), {2, 8}, wire()),
                 {"--link", "'log' was measured over 2 hosts", "leave out --inter-link"});
}

// 16 ranks of two hosts are NVLink and NICs together, and the tree that joins two hosts counts
// nearly twice the wire's bus bandwidth (model/two_level.hpp): no wire of one NIC.
TEST(LinkHosts, a_log_of_both_levels_is_no_wire) {
  for (const NodeLayout layout : {NodeLayout{2, 8}, NodeLayout{4, 8}, NodeLayout{2, 4}})
    expect_refused(query(measured("inside", 8, 1), layout, measured("log", 16, 2)),
                   {"--inter-link", "'log' was measured on 16 ranks of 2 hosts",
                    "as the only --link", "--gpus 2x8"});
  expect_refused(
      query(measured("inside", 8, 1), {2, 8}, measured("log", 16, std::nullopt)),
      {"--inter-link", "hosts that its log does not name", "as the only --link", "--gpus 2x8"});
  EXPECT_THAT(warnings(query(measured("inside", 8, 1), {2, 8}, measured("log", 16, 16))),
              IsEmpty());
}

TEST(LinkHosts, a_cluster_is_carried_to_more_nodes_of_its_own_kind_only) {
  Query q = query(measured("log", 16, 2), {4, 8});
  use_hosts(q);
  const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(1 << 30), 32};
  const CollectivePrice price = ddpx::price(link_of(q, q.links.front(), {4, 8}), call);
  EXPECT_TRUE(price.extrapolated);
  // A ring's share of the bytes: 62/32 beside 30/16 of them, in the same 20 ms.
  EXPECT_NEAR(price.time.value(), 0.02 * (62.0 / 32) / (30.0 / 16), 1e-3);
  // 30 % per doubling on a network (model/carry_over.cpp).
  EXPECT_GT(price.relative_error, std::expm1(0.30));
  expect_refused(query(measured("log", 16, 2), {4, 4}),
                 {"--link", "16 ranks of 2 hosts", "--gpus 4x4 has 4 on each", "--gpus 2x8"});
  expect_refused(query(measured("log", 16, 2), {1, 16}),
                 {"--gpus", "16 is GPUs of one host", "16 ranks of 2 hosts", "--gpus 2x8"});
}

// One question, however it is put: hosts of one GPU have nothing inside.
TEST(LinkHosts, nics_that_are_assumed_are_said) {
  Query q = query(figures(), {2, 8}, wire());
  EXPECT_EQ(assumed_nics(q),
            "--nics is not given: a node is taken to have 1 NIC of wire for all its GPUs");
  EXPECT_THAT(link_of(q, q.links.front(), {2, 8}).title, HasSubstr("1 NIC a node assumed"));
  q.inter_link->per_gpu = true;
  q.gpus = {{2, 8}, {2, 4}};
  EXPECT_EQ(assumed_nics(q),
            "--nics is not given: a node is taken to have 4 or 8 NICs of wire, one for each GPU");
  EXPECT_THAT(link_of(q, q.links.front(), {2, 8}).title, HasSubstr("8 NICs a node assumed"));
  q.nics = 2;
  EXPECT_EQ(assumed_nics(q), std::nullopt);
  EXPECT_THAT(link_of(q, q.links.front(), {2, 8}).title,
              AllOf(HasSubstr("2 NICs a node"), Not(HasSubstr("assumed"))));
  q.nics.reset();
  q.gpus = {{8, 1}};
  EXPECT_EQ(assumed_nics(q), std::nullopt) << "of a node of one GPU";
}

TEST(LinkHosts, hosts_of_one_gpu_are_the_same_link_inside_and_between) {
  for (const std::optional<int> hosts : {std::optional<int>(16), std::optional<int>()}) {
    const Link log = measured("log", 16, hosts);
    for (const NodeLayout layout : {NodeLayout{16, 1}, NodeLayout{4, 1}, NodeLayout{64, 1}}) {
      Query as_link = query(log, layout);
      Query as_inter = query(measured("inside", 2, 1), layout, log);
      use_hosts(as_link);
      use_hosts(as_inter);
      const Link a = link_of(as_link, as_link.links.front(), layout);
      const Link b = link_of(as_inter, as_inter.links.front(), layout);
      for (const double bytes : {8.0, 1e6, 1e9}) {
        const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(bytes), layout.gpus()};
        EXPECT_EQ(price(a, call).time, price(b, call).time) << bytes;
        EXPECT_EQ(price(a, call).relative_error, price(b, call).relative_error) << bytes;
      }
      EXPECT_EQ(as_link.warnings, as_inter.warnings);
    }
  }
}

}  // namespace
}  // namespace ddpx
