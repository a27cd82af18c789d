// Measured links and the hosts their ranks were on: what --gpus and --inter-link may ask of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/setting.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
              ElementsAre(HasSubstr("taken as between hosts here")));
}

TEST(LinkHosts, a_level_that_a_log_does_not_show_is_refused) {
  expect_refused(query(measured("inside", 8, 1), {2, 8}, measured("log", 8, 1)),
                 {"--inter-link", "'log' was measured inside one host and joins no nodes"});
  expect_refused(query(measured("log", 16, 2), {2, 8}, wire()),
                 {"--link", "'log' was measured over 2 hosts", "leave out --inter-link"});
}

}  // namespace
}  // namespace ddpx
