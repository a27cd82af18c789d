#include "model/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

Forecast of_rate(double samples_per_s, double speedup) {
  Forecast f;
  f.samples_per_s = {samples_per_s, 0.9 * samples_per_s, 1.1 * samples_per_s};
  f.speedup = {speedup, 0.9 * speedup, 1.1 * speedup};
  return f;
}

Job on(int gpus, double batch = 256, int micro_batches = 1) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = batch;
  job.strategy.micro_batches = micro_batches;
  return job;
}

// A rented box: 0.15 EUR per hour with one GPU, 0.58 with four (case U002).
Prices rented() { return {"EUR", 0, {{"one", 1, 0.15, {}}, {"four", 4, 0.58, {}}}}; }

TEST(Prices, of_a_rented_box_are_those_reported) {
  // 15.4 samples/s on one GPU and 14.0 on four: 0.0027 and 0.0115 EUR per 1000 samples (U102).
  EXPECT_NEAR(cost_of(1000, 15.4, rent(rented(), {1, 1}, "x").per_hour), 0.0027, 0.00005);
  EXPECT_NEAR(cost_of(1000, 14.0, rent(rented(), {1, 4}, "x").per_hour), 0.0115, 0.00005);
}

TEST(Prices, are_of_whole_machines_and_of_every_node) {
  EXPECT_DOUBLE_EQ(rent(rented(), {1, 2}, "x").per_hour, 0.58);
  EXPECT_EQ(rent(rented(), {1, 2}, "x").machine, "four");
  EXPECT_DOUBLE_EQ(rent(rented(), {3, 4}, "x").per_hour, 3 * 0.58);
  expect_input_error(
      [] {
        static_cast<void>(rent(rented(), {1, 8}, "x"));
      },
      {"--price", "8 GPUs", "leave that plan out"});
  Prices per_gpu;
  per_gpu.per_gpu_hour = 2.5;
  EXPECT_DOUBLE_EQ(rent(per_gpu, {2, 8}, "x").per_hour, 40);
}

TEST(Prices, may_be_of_one_link_only) {
  Prices prices{"", 0, {{"sxm", 8, 20, "nvlink4"}, {"pcie", 8, 12, "pcie5"}}};
  EXPECT_EQ(rent(prices, {1, 8}, "nvlink4").machine, "sxm");
  EXPECT_EQ(rent(prices, {1, 8}, "pcie5").machine, "pcie");
  EXPECT_EQ(rent(prices, {1, 1}, "none").machine, "pcie") << "one GPU uses no link";
  expect_input_error([&] { static_cast<void>(rent(prices, {1, 8}, "pcie3")); }, {"over pcie3"});
}

TEST(Plans, of_the_same_samples_take_samples_over_rate) {
  PlanQuestion question;
  question.samples = 3.6e6;
  question.prices = rented();
  const Plan plan = plan_of(question, of_rate(1000, 2), on(4), {1, 4}, "x");
  EXPECT_DOUBLE_EQ(plan.run_s->value, 3600.384) << "3516 steps of 1024 samples";
  EXPECT_NEAR(plan.run_cost->value, 0.58 * 3600.384 / 3600, 1e-12);
  EXPECT_NEAR(plan.cost_per_million->value, 0.58 / 3.6, 1e-12);
  EXPECT_NEAR(plan.run_s->high, 3600.384 / 0.9, 1e-9);
  EXPECT_FALSE(plan.target_s);
  EXPECT_EQ(&plan.time(), &plan.run_s) << "the deadline is the run's";
}

TEST(Plans, of_fewer_samples_than_a_step_take_a_step) {
  PlanQuestion question;
  question.prices = rented();
  for (const double samples : {1.0, 1023.0, 1024.0}) {
    question.samples = samples;
    EXPECT_DOUBLE_EQ(plan_of(question, of_rate(1000, 2), on(4), {1, 4}, "x").run_s->value, 1.024);
  }
  question.samples = 1025;
  const Plan plan = plan_of(question, of_rate(1000, 2), on(4), {1, 4}, "x");
  EXPECT_DOUBLE_EQ(plan.run_s->value, 2.048);
  EXPECT_NEAR(plan.run_cost->value, 0.58 * 2.048 / 3600, 1e-15);
}

TEST(Plans, to_a_target_pay_for_the_larger_batch_in_samples) {
  PlanQuestion question;
  question.samples = 1e6;
  question.critical = CriticalBatch{1024, 1024, false};
  // Two GPUs with eight micro-batches: global batch 4096 against 256.
  const Plan plan = plan_of(question, of_rate(1000, 1.9), on(2, 256, 8), {1, 2}, "x");
  EXPECT_DOUBLE_EQ(plan.global_batch, 4096);
  EXPECT_DOUBLE_EQ(plan.samples_ratio->value, 5.0 / 1.25);
  EXPECT_DOUBLE_EQ(plan.target_samples->value, 4e6);
  EXPECT_DOUBLE_EQ(plan.target_steps->value, 977) << "4e6 / 4096, in whole steps";
  EXPECT_DOUBLE_EQ(plan.target_s->value, 977 * 4.096);
  EXPECT_DOUBLE_EQ(plan.target_speedup->value, 1.9 / 4);
  EXPECT_EQ(*plan.target_verdict, Verdict::does_not_pay) << "1.9 times the samples per second";
}

// Samples known at batch 256, a plan of one GPU at 2048: 1 + 2 against 1 + 1/4 of E_min.
TEST(Plans, of_several_batches_are_held_against_one_of_them) {
  PlanQuestion question;
  question.samples = 1e6;
  question.learning_rate = 0.1;
  question.critical = CriticalBatch{1024, 1024, false};
  question.one_gpu_batch = 256;
  const Plan plan = plan_of(question, of_rate(1000, 1), on(1, 2048), {1, 1}, "none");
  EXPECT_DOUBLE_EQ(plan.samples_ratio->value, 3 / 1.25);
  EXPECT_DOUBLE_EQ(plan.target_s->value, 1172 * 2.048) << "2.4e6 / 2048, in whole steps";
  EXPECT_DOUBLE_EQ(*plan.learning_rate, 0.8);
  EXPECT_DOUBLE_EQ(plan.target_speedup->value, 1) << "one GPU is one GPU at any batch";
}

TEST(Plans, of_one_gpu_with_plain_steps_are_the_measure) {
  PlanQuestion question;
  question.samples = 1e6;
  question.critical = kPublicCriticalBatch;
  question.learning_rate = 0.1;
  const Plan plan = plan_of(question, of_rate(500, 1), on(1), {1, 1}, "none");
  EXPECT_EQ(plan.samples_ratio->low, 1);
  EXPECT_EQ(plan.samples_ratio->high, 1);
  EXPECT_DOUBLE_EQ(plan.target_samples->value, 1e6);
  EXPECT_DOUBLE_EQ(*plan.learning_rate, 0.1);
  EXPECT_FALSE(plan.target_verdict);
}

TEST(Plans, under_strong_scaling_keep_the_batch_and_the_samples) {
  PlanQuestion question;
  question.critical = CriticalBatch{100, 100, false};
  Job job = on(4);
  job.scaling = Scaling::strong;
  const Plan plan = plan_of(question, of_rate(500, 3), job, {1, 4}, "x");
  EXPECT_DOUBLE_EQ(plan.samples_ratio->value, 1);
  EXPECT_DOUBLE_EQ(plan.target_speedup->value, 3);
}

TEST(Plans, of_more_gpus_never_need_fewer_samples_and_no_target_comes_sooner_than_its_rate) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> unit;
  for (int round = 0; round < 2000; ++round) {
    PlanQuestion question;
    question.samples = 1e3 * std::pow(1e6, unit(engine));
    const double low = 10 * std::pow(1e5, unit(engine));
    question.critical = CriticalBatch{low, low * (1 + 10 * unit(engine)), false};
    question.prices = Prices{"", 0.1 + unit(engine), {}};
    const int gpus = 1 << static_cast<int>(10 * unit(engine));
    const Job job = on(gpus, 1 + std::floor(512 * unit(engine)), 1 << (round % 6));
    const Forecast f = of_rate(1 + 1e4 * unit(engine), 0.1 + gpus * unit(engine));
    const Plan plan = plan_of(question, f, job, {1, gpus}, "x");
    ASSERT_GE(plan.samples_ratio->low, 1 - 1e-12);
    ASSERT_LE(plan.samples_ratio->low, plan.samples_ratio->value * (1 + 1e-12));
    ASSERT_LE(plan.samples_ratio->value, plan.samples_ratio->high * (1 + 1e-12));
    ASSERT_LE(plan.target_speedup->value, f.speedup.value * (1 + 1e-12));
    ASSERT_GE(plan.target_s->value, plan.run_s->value * (1 - 1e-12));
    ASSERT_NEAR(plan.target_cost->value / plan.target_s->value,
                plan.run_cost->value / plan.run_s->value, 1e-9);
    const double left = plan.target_steps->value * plan.global_batch - plan.target_samples->value;
    ASSERT_GE(left, -1e-9 * plan.target_samples->value);
    ASSERT_LT(left, plan.global_batch);
    ASSERT_LE(plan.run_s->low, plan.run_s->value);
    ASSERT_LE(plan.run_s->value, plan.run_s->high);
  }
}

std::vector<Plan> three_plans() {
  PlanQuestion question;
  question.samples = 3.6e6;
  question.prices = Prices{"", 1, {}};
  return {plan_of(question, of_rate(100, 1), on(1), {1, 1}, "x"),    // 10 h, costs 10
          plan_of(question, of_rate(190, 1.9), on(2), {1, 2}, "x"),  // 5.26 h, 10.5
          plan_of(question, of_rate(300, 3), on(4), {1, 4}, "x")};   // 3.33 h, 13.3
}

TEST(Cheapest, is_the_cheapest_of_those_that_meet_the_deadline) {
  const std::vector<Plan> plans = three_plans();
  const auto within = [&](double hours) { return cheapest(plans, Seconds(hours * 3600)); };
  EXPECT_EQ(cheapest(plans, std::nullopt)->plan, 0U);
  EXPECT_EQ(within(12)->plan, 0U);
  EXPECT_EQ(within(6)->plan, 1U);
  EXPECT_EQ(within(4)->plan, 2U);
  EXPECT_TRUE(within(4)->certain);
  EXPECT_FALSE(within(2));
}

TEST(Cheapest, prefers_what_meets_the_deadline_with_its_whole_interval) {
  const std::vector<Plan> plans = three_plans();
  // 10 h in the point, 11.1 h at the end of the interval: two GPUs are sure.
  EXPECT_EQ(cheapest(plans, Seconds(10.5 * 3600))->plan, 1U);
  // Four GPUs take 3.33 h, 3.70 at the end: nothing is sure.
  const auto close = cheapest(plans, Seconds(3.5 * 3600));
  EXPECT_EQ(close->plan, 2U);
  EXPECT_FALSE(close->certain);
}

TEST(Cheapest, never_takes_what_does_not_fit) {
  std::vector<Plan> plans = three_plans();
  plans[0].fits = false;
  EXPECT_EQ(cheapest(plans, std::nullopt)->plan, 1U);
  for (Plan& plan : plans) plan.fits = false;
  EXPECT_FALSE(cheapest(plans, std::nullopt));
}

}  // namespace
}  // namespace ddpx
