#include "io/validation_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/forecasts.hpp"

namespace ddpx::io {
namespace {

ErrorSummary summary(double error) {
  ErrorSummary s;
  s.rows = 4;
  s.median_abs_error = error;
  s.p95_abs_error = 2 * error;
  s.max_abs_error = 3 * error;
  s.median_error = -error;
  s.interval_coverage = 0.75;
  s.median_half_width = 0.05;
  s.verdicts_judged = 3;
  s.verdicts_right = 2;
  s.too_close = 1;
  return s;
}

const RunRow& run() {
  static const RunRow kRun = [] {
    RunRow row;
    row.network = "mlp:width=4096,depth=8";
    row.link = "pcie3";
    row.measured_communication_share = 0.25;
    row.note = "a clock dropped";
    return row;
  }();
  return kRun;
}

Comparison comparison() {
  ComparedRow row;
  row.run = &run();
  row.network = run().network;
  row.parameters = 134e6;
  row.width = 4096;
  row.family = "ddp";
  row.regime = Regime::host_bound;
  row.forecast = test::round_forecast();
  row.measured = {1.0, 0.9, 1.1};
  row.error = 0.023;
  row.measured_speedup = 1.4;
  row.verdict_right = true;
  row.baseline_error[0] = -0.5;
  row.error_parts = ErrorParts{0.02, 0.003};
  row.dominant_term = Term::imbalance;
  row.dominant_share = 0.5;
  row.least_certain = Source::link;
  Comparison c;
  c.rows = {row};
  c.summary = summary(0.03);
  c.by_regime = {{"gpu_bound", summary(0.01)}, {"host_bound", ErrorSummary{}}};
  c.by_link = {{"pcie3", summary(0.04)}};
  c.by_link_and_regime = {{"pcie3", Regime::gpu_bound, summary(0.01), 0.07, {}}};
  c.baselines = {{Baseline::b2, summary(0.2), summary(0.03)}};
  c.sweeps = {{"pcie3, 2 GPUs", "ddp", {{1e6, {1.5, 1.4, 1.6}}}, {{1e6, {1.4, 1.4, 1.4}}}, {}, {}}};
  c.crossings = {{"pcie3, 2 GPUs", {{{4e6, 3e6, 5e6}, 2e6, 8e6, PaysSide::below}}, {}}};
  return c;
}

std::string written_validation() {
  const Comparison c = comparison();
  return to_json(ValidationDocument{"t4x2", {"t4x2-runs"}, c, {}}, {{"os", "Linux"}});
}

void expect_summary(const Reader& from, double error) {
  EXPECT_EQ(from.at("rows").number(), 4);
  EXPECT_EQ(from.at("median_abs_error").number(), error);
  EXPECT_EQ(from.at("p95_abs_error").number(), 2 * error);
  EXPECT_EQ(from.at("max_abs_error").number(), 3 * error);
  EXPECT_EQ(from.at("verdicts_right").number(), 2);
  EXPECT_EQ(from.at("verdicts_judged").number(), 3);
}

TEST(ValidationJson, summaries_have_the_names_that_others_read) {
  const Document d = open_document(written_validation(), "out", kValidationSchema);
  const Reader top(d);
  expect_summary(top.at("summary"), 0.03);
  EXPECT_EQ(top.at("summary").at("interval_coverage").number(), 0.75);
  expect_summary(top.at("by_regime").at("gpu_bound"), 0.01);
  expect_summary(top.at("by_link").at("pcie3"), 0.04);
  const Reader baseline = top.at("baselines").elements().front();
  EXPECT_EQ(baseline.at("name").text(), "B2");
  expect_summary(baseline, 0.2);
  expect_summary(baseline.at("forecast_on_same_rows"), 0.03);
  const Reader group = top.at("by_link_and_regime").elements().front();
  EXPECT_EQ(group.at("conformal_half_width").number(), 0.07);
  EXPECT_EQ(top.at("measured").texts(), std::vector<std::string>{"t4x2-runs"});
}

TEST(ValidationJson, a_row_has_the_forecast_the_measurement_and_the_error) {
  const Document d = open_document(written_validation(), "out", kValidationSchema);
  const Reader row = Reader(d).at("rows").elements().front();
  EXPECT_EQ(row.at("network").text(), "mlp:width=4096,depth=8");
  EXPECT_EQ(row.at("gpus").number(), 2);
  EXPECT_EQ(row.at("machine").text(), "t4x2");
  EXPECT_EQ(row.at("speedup").at("value").number(), 1.5);
  EXPECT_EQ(row.at("terms_s").at("forward").number(), 0.001);
  EXPECT_EQ(row.at("measured_step_time_s").at("high").number(), 1.1);
  EXPECT_EQ(row.at("error").number(), 0.023);
  EXPECT_EQ(row.at("regime").text(), "host_bound");
  EXPECT_EQ(row.at("measured_speedup").number(), 1.4);
  EXPECT_TRUE(row.at("verdict_right").boolean());
  EXPECT_EQ(row.at("baseline_errors").at("B0").number(), -0.5);
  EXPECT_EQ(row.at("error_parts").at("rest").number(), 0.003);
  EXPECT_EQ(row.at("note").text(), "a clock dropped");
}

TEST(ValidationJson, what_was_not_judged_is_null_and_not_zero) {
  EXPECT_THAT(written_validation(),
              testing::ContainsRegex(
                  "\"host_bound\": \\{[ \n]*\"rows\": 0,[ \n]*\"median_abs_error\": null"));
  EXPECT_THAT(written_validation(), testing::HasSubstr("\"B1\": null"));
  EXPECT_THAT(written_validation(), testing::HasSubstr("\"conformal_coverage\": null"));
}

TEST(ValidationJson, sweeps_and_crossings_stand_side_by_side) {
  const Document d = open_document(written_validation(), "out", kValidationSchema);
  const Reader sweep = Reader(d).at("sweeps").elements().front();
  EXPECT_EQ(sweep.at("measured").elements().front().at("speedup").at("value").number(), 1.4);
  const Reader crossing = Reader(d).at("crossings").elements().front();
  EXPECT_EQ(crossing.at("forecast").elements().front().at("pays").text(), "below");
  EXPECT_TRUE(crossing.at("measured").elements().empty());
}

}  // namespace
}  // namespace ddpx::io
