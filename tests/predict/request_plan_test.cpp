// Conditions, time to target and money as a user asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "model/error.hpp"
#include "predict/plan_text.hpp"
#include "predict/request_plan.hpp"
#include "predict/table.hpp"
#include "tests/predict/plan_question.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::not_answered;
using test::question;
using test::text_for;
using testing::HasSubstr;
using testing::Not;

TEST(RequestPlan, hostile_values_are_refused_by_flag_and_value) {
  const auto each = [](std::optional<std::string> Options::*flag, const char* name,
                       std::initializer_list<const char*> values) {
    for (const char* value : values) {
      Options o = question();
      o.samples = "1M";
      o.*flag = value;
      not_answered(o, {name});
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
  not_answered(o, {"--rate-rule", "'cubic'", "linear, sqrt"});
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

TEST(RequestPlan, what_cannot_change_the_answer_is_an_error) {
  Options o = question();
  o.deadline = "24h";
  not_answered(o, {"--deadline", "--samples"});
  o.samples = "1M";
  o.networks = {"mlp:width=1024", "mlp:width=2048"};
  not_answered(o, {"--deadline", "one network"});
  o = question();
  o.rate_rule = "sqrt";
  not_answered(o, {"--rate-rule", "--learning-rate"});
  o = question();
  o.gpus = "1";
  o.imbalance = "10%";
  not_answered(o, {"--imbalance", "one GPU"});
  o.imbalance.reset();
  o.straggler = "10%";
  not_answered(o, {"--straggler", "one GPU"});
  o.straggler.reset();
  o.infer_link = "t1=1s,tn=2s";
  o.params = "1M";
  o.networks.clear();
  o.price = "2";
  not_answered(o, {"--price", "--infer-link"});
  o = question();
  o.rank_compute = "1s,2s";
  not_answered(o, {"--rank-compute", "--diagnose"});
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
  const Resolvers names = test::with_timed_step(Seconds(0.2));
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
    cheapest += line.ends_with(",yes,\r") ? 1 : 0;
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
    not_answered(o, {"--price: '", "' is no price; accepted: a price per hour from 1e-6 to 1e9"});
  }
}

TEST(Plans, a_link_of_a_price_file_that_nobody_knows_is_named_with_its_machine) {
  Resolvers names = test::small_resolvers();
  names.price_file = [](const std::string&) {
    return Prices{"", 0, {{"pair", 2, 0.3, "pcei"}, {"one", 1, 0.1, {}}}};
  };
  names.link = [](std::string_view place, const std::optional<std::string>& name,
                  const Machine& machine) {
    if (name && *name != "pcie") throw InputError(place, "knows no link \"" + *name + "\"");
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
