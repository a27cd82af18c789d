#include "io/link_json.hpp"

#include <gtest/gtest.h>

#include "tests/io/damaged.hpp"
#include "tests/io/links.hpp"
#include "tests/io/same.hpp"

namespace ddpx::io {
namespace {

const Context kContext{{"os", "Linux"}};

std::string written_links() {
  return to_json(std::vector{test::full_link(), test::figures_only(), test::curve_only()},
                 kContext);
}

TEST(LinkJson, what_was_written_is_read_back_field_by_field) {
  const std::vector<Link> links = links_from_json(written_links(), "given.json");
  ASSERT_EQ(links.size(), 3U);
  test::expect_same(links[0], test::full_link());
  test::expect_same(links[1], test::figures_only());
  test::expect_same(links[2], test::curve_only());
  EXPECT_EQ(to_json(links, kContext), written_links());
}

TEST(LinkJson, one_link_may_be_a_whole_file) {
  const std::string text = R"({"schema": "ddpx.link", "schema_version": 1, "context": {},
    "name": "mine", "topology": "pcie",
    "latency_s": {"value": 1e-5, "relative_error": 0.1},
    "bandwidth_bytes_per_s": {"value": 1e10, "relative_error": 0.1}})";
  const std::vector<Link> links = links_from_json(text, "given.json");
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].name, "mine");
  EXPECT_EQ(links[0].bandwidth.value, BytesPerSecond(1e10));
  EXPECT_EQ(links[0].beside_compute.value, 1.0) << "nothing said: no slowdown";
  test::expect_refused(text, links_from_json,
                       {{"\"mine\"", "\"mine\", \"chanels\": 4", {"did you mean channels?"}},
                        {"\"context\": {},", "", {"has no \"context\""}}});
}

TEST(LinkJson, damaged_files_are_refused_by_path_and_value) {
  test::expect_refused(
      written_links(), links_from_json,
      {{"\"pcie3\"", "\"\"", {"links[0].name: is \"\""}},
       {"\"25GB/s\"", "\"pcie3\"", {"links[1].name: is \"pcie3\"", "no earlier link"}},
       {"\"host_memory\"",
        "\"usb\"",
        {"links[0].topology: is \"usb\"; accepted: nvlink, pcie, pcie_host, network, host_memory"}},
       {"\"ranks\": 2", "\"ranks\": 0", {"links[0].curves[0].ranks: is 0", "from 2"}},
       {"\"ranks\": 2", "\"ranks\": 1", {"curves[0].ranks: is 1"}},
       {"\"ranks\": 2", "\"ranks\": 2.5", {"curves[0].ranks: is 2.5"}},
       {"\"ranks\": 2", "\"ranks\": 99999999999", {"curves[0].ranks: is 99999999999"}},
       {"\"bytes\": 65536",
        "\"bytes\": 4096",
        {"curves[0].points[1].bytes: is 4096", "each size once", "points[0]"}},
       {"\"bytes\": 65536",
        "\"bytes\": 0",
        {"points[1].bytes: is 0; accepted: a number from 1 to 1e+16 (bytes)"}},
       {"\"bytes\": 65536", "\"bytes\": -1", {"points[1].bytes: is -1"}},
       {"\"time_s\": 9e-04", "\"time_s\": NaN", {"NaN and Infinity are not JSON"}},
       {"\"time_s\": 9e-04", "\"time_s\": 0", {"points[1].time_s: is 0"}},
       {"\"time_s\": 9e-04", "\"time_s\": \"fast\"", {"points[1].time_s: is \"fast\""}},
       {"\"time_s\": 9e-04", "\"tims_s\": 9e-04", {"did you mean time_s?"}},
       {"\"collective\": \"reduce_scatter\"",
        "\"collective\": \"broadcast\"",
        {"curves[1].collective: is \"broadcast\"; accepted: all_reduce, all_gather"}},
       {"\"dtype\": \"fp16\"",
        "\"dtype\": \"int8\"",
        {"curves[1].dtype", "fp32, tf32, bf16, fp16"}},
       {"\"channels\": 4", "\"channels\": 0", {"links[0].channels: is 0"}},
       {"\"value\": 4050000000", "\"value\": 0", {"bandwidth_bytes_per_s.value: is 0"}},
       {"\"relative_error\": 0.04",
        "\"relative_error\": -0.04",
        {"latency_s.relative_error: is -0.04"}},
       {"\"bandwidth_high_bytes_per_s\": 4100000000",
        "\"bandwidth_high_bytes_per_s\": 1001",
        {"bandwidth_high_bytes_per_s: is 1001", "bandwidth_low_bytes_per_s up"}}});
}

TEST(LinkJson, a_link_needs_a_curve_or_a_bandwidth_with_its_latency) {
  const std::string text = to_json(std::vector{test::figures_only()}, kContext);
  test::expect_refused(
      text, links_from_json,
      {{"\"bandwidth_bytes_per_s\": {\"value\": 25000000000",
        "\"large_latency_s\": {\"value\": 0.001",
        {"links[0]: has neither \"curves\" nor \"bandwidth_bytes_per_s\""}},
       {"\"latency_s\"", "\"large_latency_s\"", {"links[0]: has no \"latency_s\""}}});
  test::expect_input_error(
      [] { (void)links_from_json(to_json(std::vector<Link>{}, {}), "given.json"); },
      {"links: is empty"});
}

TEST(LinkJson, a_curve_needs_a_line_or_a_point_to_price_by) {
  const std::string text = to_json(std::vector{test::curve_only()}, kContext);
  test::expect_refused(text, links_from_json,
                       {{"\"time_s\": 1e-05",
                         "\"time_s\": 1e-05, \"misfit\": \"odd\"",
                         {"links[0].curves[0]: has neither a line nor a point"}}});
}

TEST(LinkJson, a_second_curve_of_one_kind_is_refused) {
  Link link = test::curve_only();
  link.curves.push_back(link.curves.front());
  test::expect_input_error(
      [&] { (void)links_from_json(to_json(std::vector{link}, kContext), "given.json"); },
      {"links[0].curves[1]: is a second curve of all_reduce in fp32 on 2 ranks"});
}

TEST(LinkJson, truncated_files_are_refused) {
  test::expect_truncation_refused(written_links(), links_from_json);
}

}  // namespace
}  // namespace ddpx::io
