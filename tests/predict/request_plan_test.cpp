// Conditions, time to target and money as a user asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "model/error.hpp"
#include "predict/plan_text.hpp"
#include "predict/request_plan.hpp"
#include "predict/table.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/lines.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::expect_input_error;
using test::unwrapped;
using testing::HasSubstr;
using testing::Not;

Options question() {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "1,2";
  return o;
}

void refused(const Options& options, std::initializer_list<std::string_view> words) {
  expect_input_error([&] { static_cast<void>(answer(options)); }, words);
}

std::string text_for(const Options& options) {
  const std::string text = text_of(answer(options));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  return unwrapped(text);
}

TEST(RequestPlan, hostile_values_are_refused_by_flag_and_value) {
  const auto each = [](std::optional<std::string> Options::*flag, const char* name,
                       std::initializer_list<const char*> values) {
    for (const char* value : values) {
      Options o = question();
      o.samples = "1M";
      o.*flag = value;
      refused(o, {name});
    }
  };
  each(&Options::loader_rate, "--loader-rate",
       {"", "0", "-5", "nan", "inf", "fast", "10/gpu", "/rank", "0/rank", "1e999", "1e-300",
        "1e300"});
  each(&Options::imbalance, "--imbalance", {"", "10", "-1%", "nan%", "5000%", "10%%", "ten%"});
  each(&Options::straggler, "--straggler",
       {"", "20", "spread", "spread=", "spread=3", "spread=200%", "sprd=3%", "samples",
        "samples=", "samples=0", "samples=-1%", "samples=400%"});
  each(&Options::samples, "--samples",
       {"", "0", "-1", "nan", "1e999", "1e300", "0.5", "1.5", "many"});
  each(&Options::critical_batch, "--critical-batch",
       {"", "0", "4000:", ":4000", "4000:1000", "1:2:3", "unkown", "nan", "1e-300", "1e300"});
  each(&Options::learning_rate, "--learning-rate", {"", "0", "-0.1", "nan", "1e300"});
  each(&Options::price, "--price", {"0", "1e999", "1e300", "2.5EUR"});
  each(&Options::deadline, "--deadline", {"", "24", "0h", "-1h", "nan", "1e30h"});
  Options o = question();
  o.critical_batch = "4K";
  o.rate_rule = "cubic";
  refused(o, {"--rate-rule", "'cubic'", "linear, sqrt"});
}

TEST(RequestPlan, plans_of_several_batches_name_theirs_and_need_samples_by_it) {
  Options o = question();
  o.samples = "1M";
  o.critical_batch = "1024";
  o.batch = "256,2048";
  o.gpus = "1";
  const ForecastDocument document = answer(o);
  EXPECT_EQ(document.rows[0].plan->samples_ratio->value, 1);
  EXPECT_NEAR(document.rows[1].plan->samples_ratio->value, 3 / 1.25, 1e-12);
  const std::string text = text_for(o);
  EXPECT_THAT(text, HasSubstr("1 GPU batch 256"));
  EXPECT_THAT(text, HasSubstr("over one GPU at batch 256"));
}

// Samples are taken to be alike unless the model is known by its step alone.
TEST(RequestPlan, what_samples_are_anyway_cannot_change_the_answer) {
  Options o = question();
  o.straggler = "samples=0%";
  refused(o, {"--straggler", "'samples=0%'", "cannot change the answer"});
  o.straggler = "samples=10%";
  static_cast<void>(answer(o));
}

// Of N ranks the fullest has at most all of the work.
TEST(RequestPlan, no_rank_has_more_than_all_of_the_work) {
  Options o = question();
  o.gpus = "2,8";
  o.imbalance = "101%";
  refused(o, {"--imbalance", "2 ranks", "0 % to 100 %"});
  o.gpus = "8";
  static_cast<void>(answer(o));
  o.imbalance = "701%";
  refused(o, {"--imbalance", "8 ranks", "700 %"});
}

TEST(RequestPlan, nodes_need_both_of_their_numbers) {
  for (const char* half : {"2x", "x8", "x"}) {
    Options o = question();
    o.gpus = half;
    refused(o, {"--gpus", half, "2x8"});
  }
}

TEST(RequestPlan, what_cannot_change_the_answer_is_an_error) {
  Options o = question();
  o.deadline = "24h";
  refused(o, {"--deadline", "--samples"});
  o.samples = "1M";
  o.networks = {"mlp:width=1024", "mlp:width=2048"};
  refused(o, {"--deadline", "one network"});
  o = question();
  o.rate_rule = "sqrt";
  refused(o, {"--rate-rule", "--learning-rate"});
  o = question();
  o.gpus = "1";
  o.imbalance = "10%";
  refused(o, {"--imbalance", "one GPU"});
  o.imbalance.reset();
  o.straggler = "10%";
  refused(o, {"--straggler", "one GPU"});
  o.straggler.reset();
  o.infer_link = "t1=1s,tn=2s";
  o.params = "1M";
  o.networks.clear();
  o.price = "2";
  refused(o, {"--price", "--infer-link"});
  o = question();
  o.rank_compute = "1s,2s";
  refused(o, {"--rank-compute", "--diagnose"});
}

TEST(RequestPlan, the_throughput_is_the_smaller_of_model_and_loader) {
  Options o = question();
  const double free = answer(o).rows[1].forecast.samples_per_s.value;
  o.loader_rate = "1000";
  EXPECT_NEAR(answer(o).rows[1].forecast.samples_per_s.value, 1000, 1e-6);
  o.loader_rate = "1000/rank";
  EXPECT_NEAR(answer(o).rows[1].forecast.samples_per_s.value, 2000, 1e-6);
  o.loader_rate = "1G";
  EXPECT_DOUBLE_EQ(answer(o).rows[1].forecast.samples_per_s.value, free);
}

TEST(RequestPlan, conditions_are_shown_where_one_is_given) {
  Options o = question();
  EXPECT_THAT(text_for(o), Not(HasSubstr("loader keeps up")));
  o.loader_rate = "1000";
  const std::string text = text_for(o);
  EXPECT_THAT(text, HasSubstr("Not ideal for lack of:"));
  EXPECT_THAT(text, HasSubstr("of what the ranks consume"));
  EXPECT_THAT(text, HasSubstr("work even (--imbalance)"));
  o.loader_rate.reset();
  o.straggler = "spread=5%";
  EXPECT_THAT(text_for(o), HasSubstr("slowest rank 1.03x the mean"));  // 0.05 x 0.564
}

// Perfectly even is a fact like any other: the step is the same, and nothing is assumed of it.
TEST(RequestPlan, work_known_to_be_even_and_ranks_known_to_be_equal_are_no_assumptions) {
  Options o = question();
  const double step = answer(o).rows.front().forecast.step_time_s.value;
  o.imbalance = "0%";
  for (const char* straggler : {"0%", "spread=0%"}) {
    o.straggler = straggler;
    EXPECT_EQ(answer(o).rows.front().forecast.step_time_s.value, step);
    const std::string text = text_for(o);
    EXPECT_THAT(text, HasSubstr("fullest rank 1.00x the mean"));
    EXPECT_THAT(text, HasSubstr("slowest rank 1.00x the mean"));
    EXPECT_THAT(text, Not(HasSubstr("--imbalance")));
    EXPECT_THAT(text, Not(HasSubstr("--straggler")));
  }
}

TEST(RequestPlan, what_the_framework_takes_of_a_known_step_is_borrowed) {
  Options o;
  o.params = "25.6M";
  o.step_time = "97ms";
  o.batch = "32";
  o.gpus = "1,8";
  o.links = {"fast"};
  o.explain = true;
  const ForecastDocument d = answer(o);
  EXPECT_EQ(d.rows[0].forecast.step.term(Term::framework).value(), 0);
  EXPECT_DOUBLE_EQ(d.rows[1].forecast.step.term(Term::framework).value(), 2e-3);
  EXPECT_THAT(text_for(o), HasSubstr("framework"));
  o.step_time = "5ms";  // less its optimizer's update
  const double capped = answer(o).rows[1].forecast.step.term(Term::framework).value();
  EXPECT_LT(capped, 0.2 * 5e-3);
  EXPECT_GT(capped, 0.1 * 5e-3);
}

TEST(RequestPlan, samples_of_one_shape_leave_what_ranks_differ_by) {
  Options o;
  o.params = "25.6M";
  o.step_time = "97ms";
  o.batch = "4";
  o.gpus = "8";
  o.links = {"fast"};
  const auto imbalance = [&] {
    return answer(o).rows.front().forecast.step.term(Term::imbalance).value();
  };
  const double usual = imbalance();
  o.straggler = "samples=30%";
  EXPECT_DOUBLE_EQ(imbalance(), usual);
  o.straggler = "samples=0%";
  EXPECT_NEAR(imbalance() / usual, 0.02 / std::hypot(0.02, 0.15), 1e-9);
  o.straggler = "samples=60%";
  EXPECT_NEAR(imbalance() / usual, std::hypot(0.02, 0.3) / std::hypot(0.02, 0.15), 1e-9);
}

TEST(RequestPlan, accumulation_shows_more_samples_per_second_and_what_they_cost) {
  Options o = question();
  o.gpus = "2";
  o.strategies = {"ddp", "ddp,accumulate=8"};
  o.critical_batch = "1K";
  o.samples = "10M";
  const ForecastDocument d = answer(o);
  const Plan& plain = d.rows[0].plan.value();
  const Plan& accumulated = d.rows[1].plan.value();
  EXPECT_GT(d.rows[1].forecast.samples_per_s.value, d.rows[0].forecast.samples_per_s.value);
  EXPECT_LT(accumulated.run_s->value, plain.run_s->value);
  EXPECT_NEAR(accumulated.samples_ratio->value, (1 + 4.096) / 1.256, 1e-12);
  EXPECT_GT(accumulated.samples_ratio->value, plain.samples_ratio->value);
  EXPECT_THAT(text_for(o), HasSubstr("buy less than half of what they add"));
}

TEST(RequestPlan, a_sweep_crosses_in_time_to_target_before_it_does_in_throughput) {
  Options o;
  o.critical_batch = "unknown";
  const ForecastDocument d = answer(o);
  ASSERT_EQ(d.crossovers.size(), 1U);
  ASSERT_EQ(d.crossovers[0].crossings.size(), 1U);
  ASSERT_EQ(d.crossovers[0].target_crossings.size(), 1U);
  EXPECT_LT(d.crossovers[0].target_crossings[0].x.value, d.crossovers[0].crossings[0].x.value);
  const std::string text = text_for(o);
  EXPECT_THAT(text, HasSubstr("In time to target it pays below"));
  EXPECT_THAT(text, HasSubstr("a public range, for yours is not known"));
}

TEST(RequestPlan, the_linear_rule_warns_above_where_it_was_shown) {
  Options o = question();
  o.gpus = "2,64";
  o.links = {"fast"};
  o.learning_rate = "0.1";
  EXPECT_THAT(text_for(o), HasSubstr("Linear scaling is not known to hold above a global batch of "
                                     "8.19K, and the largest here is 16.4K"));
  o.optimizer = "adamw";
  EXPECT_THAT(text_for(o), Not(HasSubstr("is not known to hold")));
  EXPECT_DOUBLE_EQ(*answer(o).rows[1].plan->learning_rate, 0.8);
}

TEST(RequestPlan, the_cheapest_plan_in_time_is_named_and_none_is_said) {
  Options o = question();
  o.price = "prices.json";
  o.samples = "100M";
  o.deadline = "100h";
  const ForecastDocument d = answer(o);
  ASSERT_TRUE(d.decision->row);
  EXPECT_EQ(*d.decision->row, 0U) << "0.15 against 0.58 an hour";
  EXPECT_THAT(text_for(o), HasSubstr("Cheapest of 2 plans within"));
  EXPECT_THAT(text_for(o), HasSubstr(" EUR."));
  o.deadline = "1s";
  EXPECT_FALSE(answer(o).decision->row);
  EXPECT_THAT(text_for(o), HasSubstr("No plan of 2 is done within 1.00 s: the fastest"));
}

TEST(RequestPlan, plans_none_of_which_fits_satisfy_nothing) {
  Options o = question();
  o.samples = "90M";
  EXPECT_FALSE(answer(o).unmet());
  o.networks = {"mlp:width=32768,depth=8"};
  EXPECT_TRUE(answer(o).unmet());
  EXPECT_THAT(text_for(o), HasSubstr("No plan fits"));
}

TEST(RequestPlan, plans_on_one_gpu_and_several_rest_on_the_step_that_was_measured) {
  Resolvers names = test::small_resolvers();
  names.machine = [](const std::optional<std::string>&) {
    Machine machine = test::small_machine();
    machine.one_gpu_steps.push_back({"mlp:width=1024,depth=8",
                                     256,
                                     DType::fp32,
                                     Optimizer::sgd,
                                     Engine::torch,
                                     {Seconds(0.2), 0.01, ""}});
    return machine;
  };
  Options o = question();
  o.networks = {"mlp:width=1024,depth=8"};
  o.strategies = {"ddp", "accumulate=8"};
  o.samples = "90M";
  const ForecastDocument document = run(query_from(o, names));
  const double plain = 90e6 / 256 * 0.2;
  EXPECT_DOUBLE_EQ(document.rows[0].forecast.step_time_s.value, 0.2);
  for (const ForecastRow& row : document.rows) {
    // In whole steps: at most one more.
    const double rest = row.plan->run_s->value - plain / row.forecast.speedup.value;
    EXPECT_GE(rest, -1e-6 * plain);
    EXPECT_LE(rest, row.forecast.step_time_s.value);
    EXPECT_NEAR(std::remainder(row.plan->run_s->value, row.forecast.step_time_s.value), 0, 1e-6);
    EXPECT_NEAR(row.forecast.step.total().value(), row.forecast.step_time_s.value, 1e-9);
  }
}

TEST(RequestPlan, durations_are_written_in_their_own_unit) {
  EXPECT_EQ(duration_text(90), "90.0 s");
  EXPECT_EQ(duration_text(600), "10.0 min");
  EXPECT_EQ(duration_text(86400), "24.0 h");
  EXPECT_EQ(duration_text(864000), "10.0 days");
}

TEST(RequestPlan, csv_carries_time_and_cost) {
  Options o = question();
  o.price = "2";
  o.samples = "1M";
  const std::string csv = csv_of(answer(o));
  for (const char* key :
       {"global_batch", "fits", "learning_rate", "price_per_hour", "cost_per_million_samples",
        "run_s", "run_s_low", "run_s_high", "samples_ratio", "target_steps", "target_cost_high",
        "target_verdict", "cheapest"}) {
    EXPECT_THAT(csv, HasSubstr("," + std::string(key)));
  }
  // As many fields in every line, and one plan that is the cheapest.
  std::istringstream lines(csv);
  std::string line;
  std::set<std::ptrdiff_t> commas;
  int cheapest = 0;
  while (std::getline(lines, line)) {
    bool quoted = false;
    commas.insert(std::count_if(line.begin(), line.end(), [&](char c) {
      if (c == '"') quoted = !quoted;
      return c == ',' && !quoted;
    }));
    cheapest += line.ends_with(",yes\r") ? 1 : 0;
  }
  EXPECT_EQ(commas.size(), 1U);
  EXPECT_EQ(cheapest, 1);
}

TEST(Plans, a_narrow_table_leaves_columns_out_and_cuts_none) {
  Options o = question();
  o.samples = "90M";
  o.critical_batch = "4K";
  o.price = "0.5";
  o.learning_rate = "0.1";
  const std::string text = text_of(answer(o));
  EXPECT_THAT(text, HasSubstr("  time  "));
  EXPECT_THAT(text, HasSubstr("costs\n"));
}

TEST(Plans, a_price_that_is_none_is_said_to_be_none) {
  for (const char* price : {"nan", "-1", "abc", "$5", "", "0", "1e-9", "1e10", "inf"}) {
    Options o = question();
    o.price = price;
    refused(o, {"--price: '", "' is no price; accepted: a price per hour from 1e-6 to 1e9"});
  }
}

TEST(Plans, a_link_of_a_price_file_that_nobody_knows_is_named_with_its_machine) {
  Resolvers names = test::small_resolvers();
  names.price_file = [](const std::string&) {
    return Prices{"", 0, {{"pair", 2, 0.3, "pcei"}, {"one", 1, 0.1, {}}}};
  };
  names.link = [](std::string_view, const std::optional<std::string>& name,
                  const Machine& machine) {
    if (name && *name != "pcie") throw InputError("--link", "knows no link \"" + *name + "\"");
    return machine.links.front();
  };
  Options o = question();
  o.links = {"pcie"};
  o.price = "prices.json";
  test::expect_input_error([&] { static_cast<void>(query_from(o, names)); },
                           {"--price prices.json: machine 'pair' knows no link \"pcei\""});
}

}  // namespace
}  // namespace ddpx
