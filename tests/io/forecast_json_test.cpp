#include "io/forecast_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "tests/io/forecasts.hpp"

namespace ddpx::io {
namespace {

ForecastRow row() {
  ForecastRow r;
  r.network = "mlp:width=4096,depth=8";
  r.parameters = 134e6;
  r.width = 4096;
  r.job.gpus = 4;
  r.nodes = 2;
  r.link = "nvlink4";
  r.machine = "t4x2";
  r.forecast = test::round_forecast();
  r.extrapolated = {"4 ranks"};
  r.rests_on = {"host.per_bucket: prior"};
  r.amdahl = Amdahl{0.5, 0};
  return r;
}

CrossoverRow crossover() {
  CrossoverRow c;
  c.network = "mlp:depth=8";
  c.link = "pcie3";
  c.strategy = "ddp";
  c.batch_per_rank = 256;
  c.sweep_low = 1e5;
  c.sweep_high = 1e9;
  c.lowest_speedup = {0.5, 0.4, 0.6};
  c.highest_speedup = {1.5, 1.4, 1.6};
  c.crossings = {{{4e6, 3.5e6, 4.5e6}, 2.8e6, 5.6e6, PaysSide::below},
                 {{1e8, 9e7, 1.2e8}, 5e7, 2e8, PaysSide::above}};
  c.break_even_batch_per_rank = 512;
  return c;
}

ForecastDocument document() {
  ForecastDocument d;
  d.machine = "t4x2";
  d.device = "Tesla T4";
  d.rows = {row()};
  d.crossovers = {crossover()};
  d.warnings = {"careful"};
  return d;
}

Document parsed(const ForecastDocument& d) {
  return open_document(to_json(d, {{"os", "Linux"}}), "out", kForecastSchema);
}

void expect_interval(const Reader& from, double value, double low, double high) {
  from.only({"value", "low", "high"});
  EXPECT_EQ(from.at("value").number(), value);
  EXPECT_EQ(from.at("low").number(), low);
  EXPECT_EQ(from.at("high").number(), high);
}

TEST(ForecastJson, a_row_has_the_names_that_others_read) {
  const Document d = parsed(document());
  const Reader r = Reader(d).at("rows").elements().front();
  EXPECT_EQ(r.at("network").text(), "mlp:width=4096,depth=8");
  EXPECT_EQ(r.at("parameters").number(), 134e6);
  EXPECT_EQ(r.at("width").number(), 4096);
  EXPECT_EQ(r.at("batch_per_rank").number(), 256);
  EXPECT_EQ(r.at("gpus").number(), 4);
  EXPECT_EQ(r.at("nodes").number(), 2);
  EXPECT_EQ(r.at("link").text(), "nvlink4");
  EXPECT_EQ(r.at("strategy").text(), "ddp");
  EXPECT_EQ(r.at("scaling").text(), "weak");
  EXPECT_EQ(r.at("machine").text(), "t4x2");
  EXPECT_EQ(r.at("engine").text(), "torch");
  EXPECT_EQ(r.at("dtype").text(), "fp32");
  EXPECT_EQ(r.at("optimizer").text(), "sgd");
  expect_interval(r.at("step_time_s"), 4.095, 4.0, 4.2);
  expect_interval(r.at("speedup"), 1.5, 1.25, 1.75);
  expect_interval(r.at("samples_per_s"), 500, 450, 550);
  EXPECT_EQ(r.at("verdict").text(), "pays");
  EXPECT_DOUBLE_EQ(r.at("communication_share").number(), 0.064 / 4.095);
  EXPECT_DOUBLE_EQ(r.at("communication_busy_share").number(), 0.5 / 4.095);
  EXPECT_EQ(r.at("bound_by").text(), name(row().forecast.step.bound_by()));
  EXPECT_EQ(r.at("extrapolated").texts(), std::vector<std::string>{"4 ranks"});
  EXPECT_EQ(r.at("amdahl").at("parallel_fraction").number(), 0.5);
  EXPECT_EQ(r.at("amdahl").at("ceiling").number(), 2);
  EXPECT_FALSE(r.find("explanation"));
}

TEST(ForecastJson, decisions_are_written_with_their_rows) {
  ForecastDocument d = document();
  d.rows[0].conditions =
      conditions(d.rows[0].forecast.step, d.rows[0].forecast.one_gpu_step, 0, d.rows[0].job);
  PlanQuestion question;
  question.samples = 1e6;
  question.critical = CriticalBatch{100, 400, false};
  question.prices = Prices{"EUR", 2, {}};
  d.rows[0].plan = plan_of(question, d.rows[0].forecast, d.rows[0].job, {2, 2}, "nvlink4");
  d.decision = Decision{question, GpuMemory{}, 0, true};
  const Document written = parsed(d);
  const Reader row = Reader(written).at("rows").elements().front();
  EXPECT_TRUE(row.at("conditions").at("communication").at("known").boolean());
  EXPECT_FALSE(row.at("conditions").at("loader").at("known").boolean());
  const Reader plan = row.at("plan");
  EXPECT_EQ(plan.at("global_batch").number(), 1024);
  EXPECT_EQ(plan.at("price_per_hour").number(), 8);
  const double samples = 977 * 1024;  // 1e6 in whole steps
  expect_interval(plan.at("run_s"), samples / 500, samples / 550, samples / 450);
  EXPECT_DOUBLE_EQ(plan.at("target_samples").at("value").number(), 1e6 * (1 + 1024.0 / 200) / 2.28);
  const Reader decision = Reader(written).at("decision");
  EXPECT_EQ(decision.at("row").number(), 0);
  EXPECT_EQ(decision.at("currency").text(), "EUR");
  EXPECT_EQ(decision.at("critical_batch").at("value").number(), 200);
}

TEST(ForecastJson, a_diagnosis_is_written_with_its_numbers) {
  ForecastDocument d;
  DiagnosedRun run;
  run.points = {{1, Seconds(1), {}, {}}, {4, Seconds(3), {}, {}}};
  run.implied = {std::nullopt, BytesPerSecond(1e9)};
  run.assumed_latency = Seconds(1e-5);
  run.each = {1, 1.0 / 3};
  run.judged = run.points[1];
  run.flags = {{4, PointFault::more_than_linear, 1.2, 1}};
  run.diagnosis = {Cause::slow_rank, Seconds(2), {{Cause::slow_rank, Seconds(1.5), 3}}, true};
  run.verdict = "v";
  d.diagnosed = run;
  const Document written = parsed(d);
  const Reader diagnosis = Reader(written).at("diagnosis");
  EXPECT_EQ(diagnosis.at("verdict").text(), "slow_rank");
  EXPECT_EQ(diagnosis.at("excess_s").number(), 2);
  EXPECT_EQ(diagnosis.at("findings").elements().front().at("rank").number(), 3);
  EXPECT_EQ(diagnosis.at("points").elements()[1].at("implied_bus_bandwidth_bytes_per_s").number(),
            1e9);
  EXPECT_EQ(diagnosis.at("assumed_latency_s").number(), 1e-5);
  EXPECT_EQ(diagnosis.at("suspect_points").elements().front().at("fault").text(),
            "more_than_linear");
}

TEST(ForecastJson, the_terms_add_up_to_the_step) {
  const Document d = parsed(document());
  const Reader row = Reader(d).at("rows").elements().front();
  const std::vector<std::string_view> names = {"forward",
                                               "backward",
                                               "accumulation",
                                               "contention",
                                               "copies",
                                               "compression",
                                               "exposed_communication",
                                               "optimizer",
                                               "framework",
                                               "host",
                                               "imbalance",
                                               "loader"};
  row.at("terms_s").only(names);
  double sum = 0;
  for (const std::string_view term : names) sum += row.at("terms_s").at(term).number();
  EXPECT_DOUBLE_EQ(sum, row.at("step_time_s").at("value").number());
}

TEST(ForecastJson, each_crossing_can_be_read_alone) {
  const Document d = parsed(document());
  const auto crossovers = Reader(d).at("crossovers").elements();
  ASSERT_EQ(crossovers.size(), 2U);
  expect_interval(crossovers[0].at("parameters"), 4e6, 3.5e6, 4.5e6);
  EXPECT_EQ(crossovers[0].at("bracket").all_positive(kSize), (std::vector<double>{2.8e6, 5.6e6}));
  EXPECT_EQ(crossovers[0].at("pays").text(), "below");
  EXPECT_EQ(crossovers[1].at("pays").text(), "above");
  EXPECT_EQ(crossovers[1].at("link").text(), "pcie3");
  EXPECT_EQ(crossovers[1].at("batch_per_rank").number(), 256);
  EXPECT_EQ(crossovers[1].at("break_even_batch_per_rank").number(), 512);
  ForecastDocument cut = document();  // a sweep that ends inside the interval
  cut.crossovers[0].crossings[0].low_beyond = true;
  const Document without_low = parsed(cut);
  const Reader found = Reader(without_low).at("crossovers").elements()[0].at("parameters");
  EXPECT_TRUE(found.at("low").is_null());
  EXPECT_EQ(found.at("high").number(), 4.5e6);
}

TEST(ForecastJson, a_sweep_that_never_crosses_is_still_there) {
  ForecastDocument without = document();
  without.crossovers[0].crossings.clear();
  without.crossovers[0].break_even_batch_per_rank.reset();
  const Document d = parsed(without);
  EXPECT_TRUE(Reader(d).at("crossovers").elements().empty());
  const Reader sweep = Reader(d).at("sweeps").elements().front();
  EXPECT_EQ(sweep.at("crossovers").number(), 0);
  EXPECT_EQ(sweep.at("axis").text(), "parameters");
  expect_interval(sweep.at("lowest_speedup"), 0.5, 0.4, 0.6);
}

TEST(ForecastJson, a_sweep_over_batches_names_its_crossing_so) {
  ForecastDocument batches = document();
  batches.crossovers[0].axis = SweepAxis::batch_per_rank;
  batches.crossovers[0].batch_per_rank.reset();
  const Document d = parsed(batches);
  const Reader crossing = Reader(d).at("crossovers").elements().front();
  expect_interval(crossing.at("batch_per_rank"), 4e6, 3.5e6, 4.5e6);
}

// 1024 samples over four ranks are 256 on each, wherever a batch is named.
TEST(ForecastJson, a_batch_is_that_of_each_rank_under_strong_scaling_too) {
  ForecastDocument d = document();
  d.rows[0].job.scaling = Scaling::strong;
  d.rows[0].job.batch_per_rank = 1024;
  d.rows[0].break_even_batch_per_rank = 2048;
  d.crossovers[0].ranks_sharing_batch = 4;
  d.crossovers[0].batch_per_rank = 1024;
  const Document out = parsed(d);
  const Reader row = Reader(out).at("rows").elements().front();
  EXPECT_EQ(row.at("batch_per_rank").number(), 256);
  EXPECT_EQ(row.at("break_even_batch_per_rank").number(), 512);
  const Reader sweep = Reader(out).at("sweeps").elements().front();
  EXPECT_EQ(sweep.at("batch_per_rank").number(), 256);
  EXPECT_EQ(sweep.at("break_even_batch_per_rank").number(), 128);
  EXPECT_EQ(sweep.at("high").number(), 1e9) << "parameters";
  d.crossovers[0].axis = SweepAxis::batch_per_rank;
  d.crossovers[0].batch_per_rank.reset();
  const Document along = parsed(d);
  const Reader crossing = Reader(along).at("crossovers").elements().front();
  EXPECT_EQ(crossing.at("batch_per_rank").at("value").number(), 1e6);
  EXPECT_EQ(Reader(along).at("sweeps").elements().front().at("high").number(), 2.5e8);
}

TEST(ForecastJson, what_has_no_number_is_null) {
  ForecastDocument d = document();
  d.rows[0].width.reset();
  d.rows[0].amdahl = Amdahl{1.0, 0};  // no ceiling
  const std::string text = to_json(d, {});
  EXPECT_THAT(text, testing::HasSubstr("\"width\": null"));
  EXPECT_THAT(text, testing::HasSubstr("\"ceiling\": null"));
  EXPECT_THAT(text, testing::HasSubstr("\"break_even_batch_per_rank\": null"));
  d.rows[0].amdahl.reset();
  EXPECT_THAT(to_json(d, {}), testing::HasSubstr("\"amdahl\": null"));
}

TEST(ForecastJson, an_explanation_and_an_inferred_link_are_written_where_asked_for) {
  ForecastDocument d = document();
  d.rows[0].explanation = Explanation{
      {{Collective::all_reduce, 2, Bytes(100), Bytes(50), 2, 1, Seconds(0.25), BytesPerSecond(400),
        BytesPerSecond(500)}},
      BytesPerSecond(500),
      Bytes(75),
      0,
      {{"products", 0.5}},
      UnmeasuredProduct{
          {Pass::weight_gradient, DType::fp32, 33.5, 8, 8}, 0.18, "ddpx-calibrate --widths 8"}};
  d.inferred = InferredLink{1e6,
                            Job{},
                            Seconds(1),
                            Seconds(2),
                            0.5,
                            BytesPerSecond(1e9),
                            Seconds(1e-5),
                            StepJump{Seconds(2.25), Seconds(1.75)},
                            Seconds(0.002),
                            Seconds(0.003),
                            BytesPerSecond(5e8),
                            false,
                            "slow"};
  const Document out = parsed(d);
  const Reader explanation = Reader(out).at("rows").elements().front().at("explanation");
  EXPECT_EQ(explanation.at("sent_per_rank_bytes").number(), 75);
  const Reader collective = explanation.at("collectives").elements().front();
  EXPECT_EQ(collective.at("message_bytes").number(), 50);
  const Reader unsure = explanation.at("least_sure");
  EXPECT_EQ(unsure.at("pass").text(), "weight_gradient");
  EXPECT_EQ(unsure.at("rows").number(), 33.5);
  EXPECT_EQ(unsure.at("half_width").number(), 0.18);
  EXPECT_EQ(unsure.at("command").text(), "ddpx-calibrate --widths 8");
  EXPECT_EQ(collective.at("time_s").number(), 0.25);
  EXPECT_EQ(collective.at("peak_bus_bandwidth_bytes_per_s").number(), 500);
  EXPECT_EQ(explanation.at("per_cent_of_step_for_1_per_cent").at("products").number(), 0.5);
  EXPECT_EQ(Reader(out).at("inferred").at("bus_bandwidth_bytes_per_s").number(), 1e9);
  EXPECT_THAT(to_json(d, {}), testing::HasSubstr("\"batch_per_rank\": null"));
  EXPECT_EQ(Reader(out).at("inferred").at("assumed_latency_s").number(), 1e-5);
  EXPECT_EQ(Reader(out).at("inferred").at("step_time_just_below_s").number(), 2.25);
  EXPECT_EQ(Reader(out).at("inferred").at("step_time_just_above_s").number(), 1.75);
  EXPECT_EQ(Reader(out).at("inferred").at("framework_s").number(), 0.002);
  EXPECT_EQ(Reader(out).at("inferred").at("slowest_rank_s").number(), 0.003);
  EXPECT_EQ(Reader(out).at("inferred").at("bus_bandwidth_of_the_link_alone_bytes_per_s").number(),
            5e8);
  EXPECT_EQ(Reader(out).at("inferred").at("reading").text(), "slow");
  d.inferred->explained = false;
  EXPECT_THAT(to_json(d, {}), testing::HasSubstr("\"bus_bandwidth_bytes_per_s\": null"));
}

TEST(ForecastJson, the_same_document_has_the_same_bytes) {
  EXPECT_EQ(to_json(document(), {}), to_json(document(), {}));
}

TEST(ForecastJson, a_forecast_that_is_not_finite_is_not_written) {
  ForecastDocument d = document();
  d.rows[0].forecast.speedup.high = std::numeric_limits<double>::infinity();
  EXPECT_THROW((void)to_json(d, {}), std::logic_error);
}

}  // namespace
}  // namespace ddpx::io
