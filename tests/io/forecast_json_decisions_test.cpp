#include "io/forecast_json_decisions.hpp"

#include <gtest/gtest.h>

#include "io/forecast_json.hpp"
#include "io/json_reader.hpp"

namespace ddpx::io {
namespace {

ForecastDocument document_of_decisions() {
  ForecastDocument d;
  d.machine = "box";
  RankingRow ranking;
  ranking.of.network = "mlp:width=8";
  ranking.memory = Bytes(16e9);
  RankedStrategy row;
  row.strategy = parse_strategy("fsdp=block");
  row.link = "nvlink";
  row.step_time_s = {1, 0.5, 2};
  row.samples_per_s = {100, 50, 200};
  row.gain = {0.25, -0.5, 0.75};
  row.memory.state = Bytes(3e9);
  row.memory.activations = Bytes(1e9);
  row.fits = true;
  row.effective_batch = 512;
  row.on_front = true;
  ranking.ranking.strategies = {row};
  ranking.ranking.notes = {"a note"};
  d.rankings = {ranking};
  RequirementRow requirement;
  requirement.requirement = {Metric::efficiency, 0.9};
  requirement.now = 0.5;
  requirement.unknowns = {{Unknown::link_bandwidth,
                           "link bandwidth",
                           4e9,
                           {Outcome::boundary, 8e9, 0.9, true, {}},
                           {},
                           ""},
                          {Unknown::gpus, "GPUs", 2, {Outcome::never, 1, 0.6, true, {}}, {}, ""}};
  requirement.useful.emplace().most = 7;
  d.requirements = {requirement};
  return d;
}

TEST(DecisionsJson, has_the_documented_names) {
  const Document read = open_document(to_json(document_of_decisions(), {}), "out", kForecastSchema);
  const Reader top(read);
  const Reader strategy = top.at("strategies").filled().front();
  EXPECT_EQ(strategy.at("strategy").text(), "fsdp=block");
  EXPECT_EQ(strategy.at("gain").at("low").number(), -0.5);
  EXPECT_EQ(strategy.at("gain_verdict").text(), "no_gain");
  EXPECT_EQ(strategy.at("memory_per_gpu_bytes").number(), 4e9);
  EXPECT_EQ(strategy.at("effective_batch").number(), 512);
  EXPECT_EQ(strategy.at("rank").number(), 1);
  for (const char* key : {"step_time_s", "samples_per_s", "fits", "on_front", "validated",
                          "network", "gpus", "link", "batch_per_rank", "gpu_memory_bytes"}) {
    static_cast<void>(strategy.at(key));
  }
  const Reader requirement = top.at("requirements").filled().front();
  EXPECT_EQ(requirement.at("metric").text(), "efficiency");
  EXPECT_EQ(requirement.at("useful_gpus").number(), 7);
  const std::vector<Reader> unknowns = requirement.at("unknowns").filled();
  EXPECT_EQ(unknowns.at(0).at("relation").text(), "at_least");
  EXPECT_EQ(unknowns.at(0).at("value").number(), 8e9);
  EXPECT_EQ(unknowns.at(0).at("ratio").number(), 2);
  EXPECT_EQ(unknowns.at(1).at("outcome").text(), "never");
}

// 256 samples over four ranks are 64 on each, and 1024 are 256.
TEST(DecisionsJson, a_batch_is_that_of_each_rank_under_strong_scaling_too) {
  ForecastDocument d = document_of_decisions();
  RequirementRow& requirement = d.requirements.front();
  requirement.of.job.gpus = 4;
  requirement.of.job.scaling = Scaling::strong;
  requirement.unknowns = {{Unknown::batch_per_rank,
                           "batch of all ranks",
                           256,
                           {Outcome::boundary, 1024, 0.9, true, {}},
                           {},
                           ""}};
  const Document read = open_document(to_json(d, {}), "out", kForecastSchema);
  const Reader unknown =
      Reader(read).at("requirements").filled().front().at("unknowns").filled().front();
  EXPECT_EQ(unknown.at("what").text(), "batch per rank");
  EXPECT_EQ(unknown.at("now").number(), 64);
  EXPECT_EQ(unknown.at("value").number(), 256);
}

TEST(DecisionsJson, is_not_there_where_nothing_was_asked) {
  const std::string text = to_json(ForecastDocument{}, {});
  EXPECT_EQ(text.find("strategies"), std::string::npos);
  EXPECT_EQ(text.find("requirements"), std::string::npos);
}

}  // namespace
}  // namespace ddpx::io
