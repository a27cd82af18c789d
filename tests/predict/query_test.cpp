#include "predict/query.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/network_spec.hpp"
#include "predict/grounds.hpp"
#include "predict/table.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::figures_link;
using test::options_for;
using test::small_machine;

TEST(Query, rows_are_the_models_forecast_for_every_combination_in_order) {
  Options o = options_for("mlp:width=1024");
  o.links = {"pcie", "fast"};
  o.gpus = "2,4";
  o.batch = "64,256";
  o.strategies = {"ddp", "ddp,accumulate=4"};
  const ForecastDocument document = answer(o);
  ASSERT_EQ(document.rows.size(), 16U);
  const ForecastRow& row = document.rows[13];  // fast, 4 GPUs, ddp, batch 256
  EXPECT_EQ(row.link, "fast");
  EXPECT_EQ(row.job.gpus, 4);
  EXPECT_EQ(describe(row.job.strategy), "ddp");
  EXPECT_EQ(row.job.batch_per_rank, 256);
  const Machine machine = small_machine();
  const Forecast expected =
      forecast(machine, figures_link(), network_from("mlp:width=1024"), row.job);
  EXPECT_EQ(row.forecast.step_time_s.value, expected.step_time_s.value);
  EXPECT_EQ(row.forecast.speedup.low, expected.speedup.low);
  EXPECT_EQ(row.parameters, network_from("mlp:width=1024").parameters());
  EXPECT_EQ(row.width, 1024);
  EXPECT_EQ(row.machine, "small");
}

std::string written(const Query& query) {
  std::string text;
  const ForecastDocument document =
      write_csv(query, [&](std::string_view piece) { text += piece; });
  EXPECT_TRUE(document.rows.empty());
  return text;
}

TEST(Query, csv_is_written_as_it_is_forecast_with_the_bytes_of_the_whole) {
  Options o = options_for("mlp:depth=1");
  o.sweep = "width=64:20000:+7";
  o.links = {"pcie", "fast"};
  const Query query = query_from(o, test::small_resolvers());
  const ForecastDocument whole = run(query);
  const std::string text = written(query);
  EXPECT_GT(text.size(), std::size_t{1} << 20U);  // more than is held back
  EXPECT_EQ(text, csv_of(whole));
  EXPECT_EQ(write_csv(query, [](std::string_view) {}).warnings, whole.warnings);
  o.sweep.reset();
  o.networks = {"mlp:width=1024"};
  o.crossover = true;
  const Query one = query_from(o, test::small_resolvers());
  EXPECT_EQ(written(one), csv_of(run(one)));
}

// 40 multiprocessors: the second strategy leaves none.
TEST(Query, what_is_refused_is_refused_before_anything_is_written) {
  Options o = options_for("mlp:depth=8");
  o.sweep = "width=64:20000:+7";
  o.links = {"fast"};
  o.strategies = {"ddp", "ddp,channels=40"};
  const Query query = query_from(o, test::small_resolvers());
  test::expect_input_error(
      [&] { (void)write_csv(query, [](std::string_view) { ADD_FAILURE() << "written"; }); },
      {"--strategy", "channels=40"});
}

TEST(Query, one_gpu_is_its_own_yardstick) {
  Options o = options_for("mlp:width=1024");
  o.gpus = "1,2";
  const ForecastDocument document = answer(o);
  EXPECT_DOUBLE_EQ(document.rows[0].forecast.speedup.value, 1.0);
  EXPECT_FALSE(document.rows[0].amdahl);
  ASSERT_TRUE(document.rows[1].amdahl);
  // S(2) = 1 / ((1-p) + p/2).
  const double p = document.rows[1].amdahl->parallel_fraction;
  EXPECT_NEAR(1 / ((1 - p) + p / 2), document.rows[1].forecast.speedup.value, 1e-12);
}

TEST(Query, strong_scaling_splits_the_batch) {
  Options o = options_for("mlp:width=2048");
  o.scaling = "strong";
  o.gpus = "4";
  const ForecastDocument document = answer(o);
  EXPECT_EQ(document.rows.front().job.samples_per_step(), 256);
}

TEST(Query, every_batch_of_a_strong_sweep_is_known_to_be_shared) {
  Options o = options_for("mlp:width=2048");
  o.scaling = "strong";
  o.gpus = "4";
  o.sweep = "batch=64:4096";
  const ForecastDocument document = answer(o);
  ASSERT_EQ(document.crossovers.size(), 1U);
  EXPECT_EQ(document.crossovers.front().ranks_sharing_batch, 4);
  EXPECT_EQ(document.rows.front().job.samples_per_micro_batch(), 16);
  EXPECT_EQ(text_of(document).find("samples per rank"), std::string::npos) << text_of(document);
}

TEST(Query, what_lies_outside_the_calibration_is_named) {
  Options o = options_for("mlp:width=65536,depth=1");
  o.gpus = "4";
  const ForecastRow row = answer(o).rows.front();
  ASSERT_TRUE(row.forecast.extrapolated);
  ASSERT_EQ(row.extrapolated.size(), 2U);
  EXPECT_NE(row.extrapolated[0].find("256 x 65536 -> 65536"), std::string::npos)
      << row.extrapolated[0];
  EXPECT_NE(row.extrapolated[1].find("measured on 2 ranks, not 4"), std::string::npos)
      << row.extrapolated[1];
  EXPECT_TRUE(answer(options_for("mlp:width=1024,classes=1024")).rows.front().extrapolated.empty());
}

TEST(Query, a_rank_count_without_figures_is_named_once) {
  Options o = options_for("gpt:layers=2,hidden=256,heads=4");
  o.links = {"fast"};
  o.gpus = "4";
  o.strategies = {"fsdp=block"};
  const std::vector<std::string> found = answer(o).rows.front().extrapolated;
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [](const std::string& s) { return s.starts_with("rank count"); }),
            1);
}

TEST(Query, a_message_larger_than_any_measured_is_named) {
  Options o = options_for("mlp:width=16384,depth=1,classes=16384");
  const ForecastRow row = answer(o).rows.front();
  ASSERT_FALSE(row.extrapolated.empty());
  EXPECT_NE(row.extrapolated.back().find("message size: 2 of 2"), std::string::npos)
      << row.extrapolated.back();
}

TEST(Query, a_borrowed_gap_beside_collectives_is_listed_where_there_are_some) {
  Resolvers names = test::small_resolvers();
  names.machine = [](const std::optional<std::string>&) {
    Machine machine = small_machine();
    machine.longer_gap[1] = Estimate<Seconds>{Seconds(1e-6), 0.1, "prior: two H200"};
    return machine;
  };
  const auto listed = [&](const Options& o) {
    return run(query_from(o, names)).rows.front().rests_on;
  };
  Options o = options_for("mlp:width=1024");
  EXPECT_THAT(listed(o), testing::Contains("longer_gap: prior: two H200"));
  o.gpus = "1";
  EXPECT_THAT(listed(o), testing::Not(testing::Contains(testing::HasSubstr("longer_gap"))));
}

TEST(Query, only_the_borrowed_constants_a_job_uses_are_listed) {
  Options o = options_for("mlp:width=1024");
  const std::vector<std::string> plain = answer(o).rows.front().rests_on;
  EXPECT_EQ(plain.size(), 4U);  // copies, gap, two host costs; the link and the rest were measured
  o.gpus = "1";
  EXPECT_EQ(answer(o).rows.front().rests_on.size(), 2U);
  o.gpus = "2";
  o.links = {"fast"};
  EXPECT_NE(answer(o).rows.front().rests_on.back().find("figures"), std::string::npos);
  EXPECT_NE(answer(o).rows.front().rests_on.back().find("a table"), std::string::npos);
}

TEST(Query, an_engine_without_host_costs_is_warned_about) {
  Options o = options_for("mlp:width=1024");
  EXPECT_TRUE(answer(o).warnings.empty());
  o.engine = "native";
  ASSERT_EQ(answer(o).warnings.size(), 1U);
  EXPECT_NE(answer(o).warnings.front().find("native"), std::string::npos);
}

TEST(Query, a_ring_of_sixteen_sends_fifteen_eighths_of_the_gradient) {
  // 500 MB of gradients on 16 ranks: 937.5 MB from each.
  Network network = opaque({125e6, Seconds(1e-3), 10});
  Job job;
  job.gpus = 16;
  const Explanation e = explain(small_machine(), figures_link(), network, job);
  EXPECT_NEAR(e.sent_per_rank.value(), 937.5e6, 1);
  ASSERT_FALSE(e.collectives.empty());
  double bytes = 0;
  for (const CollectiveRow& row : e.collectives) bytes += row.gradient.value();
  EXPECT_NEAR(bytes, 500e6, 1);
}

TEST(Query, compression_halves_messages_and_sharding_gathers_and_scatters) {
  const Network network = network_from("mlp:width=1024");
  Job job;
  job.strategy = parse_strategy("ddp,compress=fp16");
  for (const CollectiveRow& row :
       explain(small_machine(), figures_link(), network, job).collectives) {
    EXPECT_EQ(row.message.value(), 0.5 * row.gradient.value());
  }
  job.strategy = parse_strategy("fsdp=unit");
  const Explanation e = explain(small_machine(), figures_link(), network, job);
  ASSERT_EQ(e.collectives.size(), 2U);
  EXPECT_EQ(e.collectives[0].kind, Collective::all_gather);
  EXPECT_EQ(e.collectives[1].kind, Collective::reduce_scatter);
  job.strategy = parse_strategy("no-sync");
  EXPECT_TRUE(explain(small_machine(), figures_link(), network, job).collectives.empty());
}

TEST(Query, a_ring_of_16_sends_937_5_MB_of_500_from_each_rank) {
  Job job;
  job.gpus = 16;
  const Network network = opaque({125e6, Seconds(1e-3), 1});
  EXPECT_DOUBLE_EQ(explain(small_machine(), figures_link(), network, job).sent_per_rank.value(),
                   937.5e6);
  // Micro-batches that each gather twice and scatter once.
  job.strategy = parse_strategy("fsdp=block,accumulate=2");
  EXPECT_DOUBLE_EQ(explain(small_machine(), figures_link(), network, job).sent_per_rank.value(),
                   2 * 3 * 500e6 * 15 / 16);
}

TEST(Query, more_rows_than_anyone_reads_are_refused_before_any_is_computed) {
  Options o;
  o.sweep = "width=1:900000:+1";
  o.gpus = "2,4,8";
  test::expect_input_error([&] { static_cast<void>(answer(o)); }, {"more than 1000000 forecasts"});
}

TEST(Query, the_same_question_has_the_same_answer) {
  const ForecastDocument a = answer({});
  const ForecastDocument b = answer({});
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].forecast.step_time_s.value, b.rows[i].forecast.step_time_s.value);
  }
}

// A smaller batch is not faster in proportion: its step is asked for, and used as it was measured.
TEST(Query, a_model_known_by_its_step_is_scaled_strongly_by_two_steps) {
  Options o;
  o.params = "25.6M";
  o.step_time = "40ms";
  o.batch = "256";
  o.gpus = "8";
  o.scaling = "strong";
  o.links = {"fast"};
  const auto refused = [&](std::initializer_list<std::string_view> words) {
    test::expect_input_error([&] { static_cast<void>(answer(o)); }, words);
  };
  refused({"--step-time", "32 samples", "40ms,TIME"});
  o.step_time = "40ms,50ms";
  refused({"--step-time", "slower"});
  o.step_time = "40ms,38ms,1ms";
  refused({"--step-time", "3 steps"});
  o.step_time = "40ms,38ms";
  const ForecastDocument document = answer(o);
  const Forecast& f = document.rows.front().forecast;
  EXPECT_DOUBLE_EQ(f.one_gpu_step_s, 0.04);
  EXPECT_GE(f.step_time_s.value, 0.038);
  EXPECT_NEAR(f.speedup.value, 0.04 / f.step_time_s.value, 1e-12);
  o.gpus = "2,8";
  refused({"--gpus", "one count"});
  o.gpus = "8";
  o.sweep = "batch=8:64";
  refused({"--sweep", "--scaling strong"});
  o.sweep.reset();
  o.batch = "4";
  refused({"--batch", "without a sample"});
  o.scaling.reset();
  refused({"--step-time", "2 steps", "--scaling strong"});
}

TEST(Query, channels_choose_the_link_that_was_measured_with_them) {
  Options o = options_for("mlp:width=1024");
  o.links = {"pcie"};
  o.strategies = {"ddp,channels=2"};
  EXPECT_EQ(answer(o).rows.front().link, "pcie") << "its own count";
  o.strategies = {"ddp,channels=4"};
  test::expect_input_error([&] { static_cast<void>(answer(o)); },
                           {"--strategy", "pcie", "2 channels only", "ddpx-calibrate"});
  o.links = {"fast"};
  EXPECT_EQ(answer(o).rows.front().link, "fast") << "figures are of whatever count they ran with";
  o.strategies = {"ddp,channels=40"};
  test::expect_input_error([&] { static_cast<void>(answer(o)); },
                           {"--strategy", "channels=40", "no multiprocessor of 40", "1 to 39"});
}

// Between widths 2048 and 4096: 3 % per doubling at a distance of sqrt(2) log2(4096/3072), with the
// measured products' own 2 %.
TEST(Query, explains_which_unmeasured_product_is_least_sure_and_what_would_time_it) {
  const Machine machine = small_machine();
  const auto least_sure = [&](const char* spec) {
    Job job;
    job.batch_per_rank = 256;
    job.gpus = 2;
    return explain(machine, machine.links.front(), network_from(spec), job).least_sure;
  };
  EXPECT_FALSE(least_sure("mlp:width=2048,depth=4"));
  const auto product = least_sure("mlp:width=3072,depth=4");
  ASSERT_TRUE(product);
  EXPECT_EQ(product->product.rows, 256);
  EXPECT_EQ(product->product.in, 3072);
  EXPECT_EQ(product->product.out, 3072);
  EXPECT_NEAR(product->half_width,
              1.6448536 * std::hypot(0.02, 0.03 * std::sqrt(2.0) * std::log2(4096.0 / 3072)), 1e-6);
  Options o = options_for("mlp:width=3072,depth=4");
  o.explain = true;
  const std::string text = text_of(answer(o));
  EXPECT_THAT(text, testing::HasSubstr("256 x 3072 -> 3072"));
  EXPECT_THAT(text, testing::HasSubstr("--widths"));
  // 100 samples over three ranks are no whole batch: 34 can be timed.
  o.scaling = "strong";
  o.batch = "100";
  o.gpus = "3";
  const std::string strong = text_of(answer(o));
  EXPECT_THAT(strong, testing::HasSubstr("33.3333 x 3072 -> 3072"));
  // With all that small_machine() has.
  o.engine = "native";
  EXPECT_EQ(answer(o).rows.front().explanation->least_sure->command,
            "ddpx-calibrate --widths 256,512,1024,2048,3072,4096,8192 --batches 34,256 --dtypes "
            "fp32");
  o.engine = "torch";
  EXPECT_EQ(answer(o).rows.front().explanation->least_sure->command,
            "python3 -m ddpx_torch measure --widths 256,512,1024,2048,3072,4096,8192 --batches "
            "34,256 --dtypes fp32 -o measurements.json");
}

}  // namespace
}  // namespace ddpx
