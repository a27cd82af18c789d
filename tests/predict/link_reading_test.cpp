// What a bandwidth is said to look like, held against the shipped table of interconnects and the
// line rates of Ethernet.
#include "predict/link_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "io/file.hpp"
#include "io/link_json.hpp"

namespace ddpx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string reading(double gigabytes) { return reading_of(BytesPerSecond(gigabytes * 1e9), 2); }

// Every link of the table, by the words that stand for its kind.
const std::map<std::string_view, std::vector<std::string_view>> kNames{
    {"TCP over 10 Gb/s Ethernet", {"tcp-10gbe"}},
    {"TCP over 25 Gb/s Ethernet", {"tcp-25gbe"}},
    {"TCP over 100 Gb/s Ethernet", {"tcp-100gbe"}},
    {"PCIe 3", {"pcie3", "pcie3-p2p", "pcie3-x8", "pcie3-x8-p2p"}},
    {"PCIe 4", {"pcie4", "pcie4-p2p", "pcie4-x8", "pcie4-x8-p2p"}},
    {"PCIe 5", {"pcie5", "pcie5-p2p", "pcie5-x8", "pcie5-x8-p2p"}},
    {"one GPU's share of EFA at 400 Gb/s", {"efa-400"}},
    {"RoCE or EFA at 100 Gb/s", {"roce-100", "efa-100"}},
    {"InfiniBand HDR", {"infiniband-hdr"}},
    {"InfiniBand NDR, RoCE at 400 Gb/s or EFA at 3200", {"infiniband-ndr", "roce-400", "efa-3200"}},
    {"a bridge of NVLink 2", {"nvlink2-bridge"}},
    {"NVLink 2", {"nvlink2"}},
    {"a bridge of NVLink 4", {"nvlink4-bridge"}},
    {"NVLink 3", {"nvlink3"}},
    {"NVLink 4", {"nvlink4"}},
    {"NVLink 5", {"nvlink5"}}};

TEST(LinkReading, every_kind_has_the_bands_of_its_links_in_the_table) {
  constexpr const char* kPath = "calibration/links/interconnects.json";
  const std::vector<Link> table = io::links_from_json(io::read_text(kPath), kPath);
  std::set<std::string_view> told;
  for (const LinkKind& kind : link_kinds()) {
    if (kind.words == "TCP over 1 Gb/s Ethernet") continue;  // not in the table
    double low = 1e15;
    double high = 0;
    for (const std::string_view name : kNames.at(kind.words)) {
      const auto link = std::find_if(table.begin(), table.end(),
                                     [&](const Link& one) { return one.name == name; });
      ASSERT_NE(link, table.end()) << name;
      low = std::min(low, link->bandwidth_low.value());
      high = std::max(high, link->bandwidth_high.value());
      told.insert(name);
      if (link->topology != Topology::network) {
        EXPECT_EQ(kind.most_gpus, link->reach()) << name;
      }
      EXPECT_THAT(reading_of(link->bandwidth.value, 2), HasSubstr(std::string(kind.words))) << name;
    }
    EXPECT_NEAR(kind.low.value() / low, 1, 1e-9) << kind.words;
    EXPECT_NEAR(kind.high.value() / high, 1, 1e-9) << kind.words;
  }
  for (const Link& link : table) EXPECT_TRUE(told.contains(link.name)) << link.name;
}

TEST(LinkReading, names_links_that_join_so_many_gpus_only) {
  const auto on = [](double gigabytes, int gpus) {
    return reading_of(BytesPerSecond(gigabytes * 1e9), gpus);
  };
  EXPECT_THAT(on(20, 2), HasSubstr("a bridge of NVLink 2"));
  EXPECT_THAT(on(20, 16), AllOf(Not(HasSubstr("bridge")), HasSubstr("PCIe 5")));
  EXPECT_EQ(on(20, 1024), "like InfiniBand HDR");
  EXPECT_THAT(on(0.05, 1024), Not(HasSubstr("PCIe")));
  EXPECT_THAT(on(1.3, 1024), Not(HasSubstr("PCIe")));
  EXPECT_THAT(on(300, 1024), AllOf(StartsWith("faster than InfiniBand NDR"),
                                   HasSubstr("the fastest link known here that joins so many")));
  EXPECT_THAT(on(300, 72), StartsWith("like NVLink 4"));
}

// 1 Gb/s are 125 MB/s on the wire, 10 Gb/s 1.25 GB/s: no more than that is like either.
TEST(LinkReading, no_ethernet_is_faster_than_its_line) {
  EXPECT_THAT(reading(0.1), StartsWith("like TCP over 1 Gb/s Ethernet; no sound PCIe"));
  EXPECT_THAT(reading(0.126), Not(StartsWith("like")));
  EXPECT_THAT(reading(0.178),
              AllOf(StartsWith("between TCP over 1 Gb/s Ethernet (up to 120 MB/s) and TCP over 10 "
                               "Gb/s Ethernet (from 900 MB/s)"),
                    HasSubstr("no sound PCIe link is this slow")));
  EXPECT_THAT(reading(1.0), StartsWith("like TCP over 10 Gb/s Ethernet"));
  EXPECT_THAT(reading(1.26), Not(StartsWith("like")));
}

TEST(LinkReading, at_the_ends_of_a_band_it_is_of_that_band_and_beyond_between_two) {
  EXPECT_THAT(reading(0.899), StartsWith("between TCP over 1 Gb/s"));
  EXPECT_THAT(reading(0.9001), StartsWith("like TCP over 10 Gb/s"));
  EXPECT_THAT(reading(1.1999), StartsWith("like TCP over 10 Gb/s"));
  EXPECT_THAT(reading(1.201), StartsWith("between TCP over 10 Gb/s Ethernet (up to 1.20 GB/s) and "
                                         "TCP over 25 Gb/s Ethernet (from 1.60 GB/s)"));
  EXPECT_THAT(reading(1.65), AllOf(StartsWith("like TCP over 25 Gb/s Ethernet; no sound PCIe")));
  EXPECT_EQ(reading(1.75), "like TCP over 25 Gb/s Ethernet or PCIe 4");
  EXPECT_EQ(reading(2.0), "like TCP over 25 Gb/s Ethernet, PCIe 4 or PCIe 3");
  EXPECT_EQ(reading(60), "between PCIe 5 (up to 53.0 GB/s) and NVLink 2 (from 105 GB/s)");
  EXPECT_EQ(reading(310), "like NVLink 4");
  EXPECT_EQ(reading(2000), "faster than NVLink 5 (up to 680 GB/s), the fastest link known here");
}

TEST(LinkReading, below_every_link_a_fault_is_to_be_looked_for) {
  for (const double gigabytes : {0.001, 0.0299, 0.0301, 0.0899})
    EXPECT_THAT(reading(gigabytes), StartsWith("below any working PCIe link")) << gigabytes;
  EXPECT_THAT(reading(0.0299), HasSubstr("no working link explains this"));
  EXPECT_THAT(reading(0.0301), HasSubstr("look for a fault"));
  EXPECT_THAT(reading(0.0901), StartsWith("like TCP over 1 Gb/s Ethernet"));
}

}  // namespace
}  // namespace ddpx
