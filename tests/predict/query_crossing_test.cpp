// Where along a sweep another GPU begins to pay, and the steps that were timed near it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/network_spec.hpp"
#include "predict/link_text.hpp"
#include "predict/query.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::options_for;
using test::small_machine;

TEST(Query, a_bare_question_sweeps_the_study_and_says_where_it_crosses) {
  const ForecastDocument document = answer({});
  ASSERT_EQ(document.rows.size(), 6U);
  EXPECT_EQ(document.rows.front().width, 256);
  EXPECT_EQ(document.rows.back().width, 8192);
  ASSERT_EQ(document.crossovers.size(), 1U);
  const CrossoverRow& c = document.crossovers.front();
  EXPECT_EQ(c.link, "pcie");
  EXPECT_EQ(c.axis, SweepAxis::parameters);
  EXPECT_EQ(c.sweep_low, document.rows.front().parameters);
  EXPECT_EQ(c.sweep_high, document.rows.back().parameters);
  ASSERT_EQ(c.crossings.size(), 1U);
  EXPECT_EQ(c.crossings.front().pays, PaysSide::below);
  EXPECT_FALSE(c.break_even_batch_per_rank);
}

TEST(Query, a_crossing_is_where_a_forecast_has_it_and_names_the_rows_around_it) {
  const ForecastDocument document = answer({});
  std::vector<SweepPoint> points;
  for (const ForecastRow& row : document.rows)
    points.push_back({row.parameters, row.forecast.speedup});
  const std::vector<Crossing> rows = crossings(points);
  const std::vector<Crossing>& found = document.crossovers.front().crossings;
  ASSERT_EQ(found.size(), rows.size());
  EXPECT_EQ(found.front().bracket_low, rows.front().bracket_low);
  EXPECT_EQ(found.front().bracket_high, rows.front().bracket_high);
  EXPECT_LT(found.front().x.low, found.front().x.value);
  const Machine machine = small_machine();
  const auto parameters = [](int width) {
    return network_from("mlp:width=" + std::to_string(width)).parameters();
  };
  int width = 1;
  while (parameters(width + 1) <= found.front().x.value) ++width;
  const auto speedup = [&](int w) {
    return point_forecast(machine, machine.links.front(),
                          network_from("mlp:width=" + std::to_string(w)), Job{})
        .speedup.value;
  };
  EXPECT_GE(speedup(width), 1);
  EXPECT_LT(speedup(width + 1), 1);
}

// One width whose one-GPU step was timed, a quarter slower than its parts, as on the two T4 at
// 1024.
Machine machine_with_a_slow_width(double slow = 1.25) {
  Machine machine = small_machine();
  const Network network = network_from("mlp:width=1024,depth=8");
  Job one;
  one.gpus = 1;
  const double parts =
      point_forecast(machine, machine.links.front(), network, one).step_time_s.value;
  machine.one_gpu_steps.push_back({network.name,
                                   256,
                                   DType::fp32,
                                   Optimizer::sgd,
                                   Engine::torch,
                                   {Seconds(slow * parts), 0.01, ""}});
  return machine;
}

TEST(Query, a_sweep_and_a_requirement_find_the_same_crossing_around_a_step_that_was_timed) {
  Resolvers names = test::small_resolvers();
  names.machine = [](const std::optional<std::string>&) { return machine_with_a_slow_width(); };
  const ForecastDocument sweep = run(query_from({}, names));
  ASSERT_EQ(sweep.crossovers.front().crossings.size(), 1U);
  Options o;
  o.requirements = {"speedup=1"};
  const ForecastDocument inverse = run(query_from(o, names));
  const UnknownRow& crossing = inverse.requirements.front().crossing.value();
  EXPECT_NEAR(sweep.crossovers.front().crossings.front().x.value, crossing.parameters.value(),
              4e-3 * crossing.parameters.value());
}

// Where one width was timed slow, two GPUs may not have it (work_scale.hpp): linear is inside.
TEST(Query, no_strategy_is_more_than_linear_for_sure_around_a_step_that_was_timed) {
  Resolvers names = test::small_resolvers();
  names.machine = [](const std::optional<std::string>&) { return machine_with_a_slow_width(); };
  Options o;
  o.sweep = "width=724:1448:x1.1";
  o.strategies = {"ddp", "accumulate=8", "accumulate=64"};
  o.links = {"fast"};
  for (const ForecastRow& row : run(query_from(o, names)).rows)
    EXPECT_LE(row.forecast.speedup.low, 2.0 + 1e-9) << row.network;
}

TEST(Query, more_than_linear_is_said_to_come_of_a_step_that_was_timed_slow) {
  Resolvers names = test::small_resolvers();
  names.machine = [](const std::optional<std::string>&) { return machine_with_a_slow_width(2); };
  names.link = [](std::string_view, const std::optional<std::string>&, const Machine&) {
    return link_from_figures("--link", "1000GB/s,1us");
  };
  Options o;
  o.networks = {"mlp:width=1024,depth=8"};
  const ForecastDocument document = run(query_from(o, names));
  ASSERT_GT(document.rows.front().forecast.speedup.value, 2);
  EXPECT_THAT(document.warnings,
              testing::Contains(testing::HasSubstr("was timed slower than its parts (x2.00)")));
}

TEST(Query, another_gpu_that_a_loader_paces_is_no_speedup_of_one_that_is_met) {
  Options o;
  o.loader_rate = "100";
  o.crossover = true;
  const ForecastDocument document = answer(o);
  EXPECT_TRUE(document.crossovers.front().crossings.empty());
  EXPECT_FALSE(document.rows.front().break_even_batch_per_rank);
  o.crossover = false;
  o.networks = {"mlp:width=1024,depth=8"};
  o.requirements = {"speedup=1"};
  const RequirementRow row = answer(o).requirements.front();
  EXPECT_FALSE(row.requirement.met_by(row.now));
  EXPECT_THAT(row.left_out, testing::Contains(testing::HasSubstr("counts as not met")));
  EXPECT_EQ(row.unknowns.front().unknown, Unknown::link_bandwidth);
  EXPECT_EQ(row.unknowns.front().solution.outcome, Outcome::never);
}

TEST(Query, the_break_even_batch_pays_and_a_tenth_less_does_not) {
  Options o = options_for("mlp:width=4096");
  o.crossover = true;
  const ForecastDocument document = answer(o);
  ASSERT_TRUE(document.rows.front().break_even_batch_per_rank);
  const double batch = *document.rows.front().break_even_batch_per_rank;
  const Machine machine = small_machine();
  Job job;
  const auto speedup = [&](double b) {
    job.batch_per_rank = b;
    return point_forecast(machine, machine.links.front(), network_from("mlp:width=4096"), job)
        .speedup.value;
  };
  EXPECT_GE(speedup(batch), 1.0);
  EXPECT_LT(speedup(0.9 * batch), 1.0);
}

TEST(Query, a_batch_sweep_crosses_along_the_batch) {
  Options o = options_for("mlp:width=4096");
  o.sweep = "batch=32:4096";
  const ForecastDocument document = answer(o);
  ASSERT_EQ(document.rows.size(), 8U);
  ASSERT_EQ(document.crossovers.size(), 1U);
  EXPECT_EQ(document.crossovers.front().axis, SweepAxis::batch_per_rank);
  EXPECT_EQ(document.crossovers.front().sweep_high, 4096);
  ASSERT_EQ(document.crossovers.front().crossings.size(), 1U);
  EXPECT_EQ(document.crossovers.front().crossings.front().pays, PaysSide::above);
}

TEST(Query, a_sweep_that_adds_no_parameters_has_rows_but_no_crossover) {
  Options o = options_for("gpt:layers=1,hidden=256,vocabulary=512,sequence=64");
  o.sweep = "heads=1:8";
  const ForecastDocument document = answer(o);
  EXPECT_EQ(document.rows.size(), 4U);
  EXPECT_TRUE(document.crossovers.empty());
}

}  // namespace
}  // namespace ddpx
