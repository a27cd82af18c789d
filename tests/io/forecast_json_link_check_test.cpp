#include "io/forecast_json_link_check.hpp"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace ddpx::io {
namespace {

const MeasuredLink kMeasured{"all_reduce on 8 ranks", 8, BytesPerSecond(10e9), true};

LinkBand candidate(const char* name, double usual) {
  return {name,
          {BytesPerSecond(0.9 * usual), BytesPerSecond(usual), BytesPerSecond(1.1 * usual)},
          "the NVLinks of one GPU"};
}

TEST(LinkCheckJson, has_the_verdict_the_band_and_the_faults_in_order) {
  LinkCheck check;
  check.standing = Standing::below;
  check.measured = kMeasured;
  check.expected = candidate("nvlink4", 350e9);
  check.looks_like = candidate("pcie4", 10e9);
  check.also_like = {candidate("pcie3-p2p", 10.8e9)};
  check.faults = {"first", "second"};
  const auto json = nlohmann::json::parse(to_json(check, {}));
  EXPECT_EQ(json.at("schema"), "ddpx.link_check");
  EXPECT_EQ(json.at("verdict"), "below");
  EXPECT_EQ(json.at("measured").at("bus_bandwidth_bytes_per_s"), 10e9);
  EXPECT_EQ(json.at("measured").at("falls_with_size"), true);
  EXPECT_EQ(json.at("measured").at("latency_share"), 0);
  EXPECT_TRUE(json.at("measured").at("notes").empty());
  EXPECT_TRUE(json.at("measured").at("hosts").is_null());
  EXPECT_TRUE(json.at("measured").at("ranks_per_host").is_null());
  EXPECT_TRUE(json.at("measured").at("assumptions").empty());
  EXPECT_TRUE(json.at("warnings").empty());
  EXPECT_EQ(json.at("expected").at("usual_bytes_per_s"), 350e9);
  EXPECT_EQ(json.at("looks_like").at("link"), "pcie4");
  EXPECT_EQ(json.at("also_looks_like").at(0).at("link"), "pcie3-p2p");
  EXPECT_EQ(json.at("likely_faults").at(0), "first");
  EXPECT_TRUE(json.at("candidates").empty());
  EXPECT_TRUE(json.at("paths").is_null());
}

TEST(LinkCheckJson, without_a_named_link_there_is_no_verdict) {
  LinkCheck check;
  check.measured = kMeasured;
  check.candidates = {candidate("pcie4", 10e9), candidate("pcie3", 8e9)};
  const auto json = nlohmann::json::parse(to_json(check, {}));
  EXPECT_TRUE(json.at("verdict").is_null());
  EXPECT_TRUE(json.at("expected").is_null());
  EXPECT_EQ(json.at("candidates").size(), 2U);
}

TEST(LinkCheckJson, says_where_the_ranks_were_and_what_was_assumed) {
  LinkCheck check;
  check.measured = kMeasured;
  check.measured->hosts = 2;
  check.measured->ranks_per_host = 4;
  check.measured->assumptions = {"eight ranks"};
  check.warnings = {"idle"};
  const auto json = nlohmann::json::parse(to_json(check, {}));
  EXPECT_EQ(json.at("measured").at("hosts"), 2);
  EXPECT_EQ(json.at("measured").at("ranks_per_host"), 4);
  EXPECT_EQ(json.at("measured").at("assumptions").at(0), "eight ranks");
  EXPECT_EQ(json.at("warnings").at(0), "idle");
}

TEST(LinkCheckJson, of_a_topology_matrix_says_the_slowest_path) {
  LinkCheck check;
  check.paths = Paths{4, 2, "SYS"};
  const auto json = nlohmann::json::parse(to_json(check, {}));
  EXPECT_TRUE(json.at("measured").is_null());
  EXPECT_EQ(json.at("paths").at("slowest"), "SYS");
  EXPECT_EQ(json.at("paths").at("gpus"), 4);
}

}  // namespace
}  // namespace ddpx::io
