#include "model/forecast.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::three_layers;

// Three layers: forward 3 s, backward 5 s; three all-reduces of 2 s, half of the last two exposed.
Machine machine(double compute_error = 0) {
  Machine m = test::machine_for(three_layers(), 1);
  for (ProductPoint& p : m.products) p.time.relative_error = compute_error;
  return m;
}

Link link(double seconds_per_bucket, double error = 0) {
  Link l = test::line_link(0, 2e6 / seconds_per_bucket);
  for (Curve& curve : l.curves) curve.relative_error = error;
  return l;
}

const Job kJob = test::one_bucket_per_tensor();

TEST(Forecasts, give_speedup_as_samples_per_second_over_one_gpu_with_plain_steps) {
  const Forecast f = forecast(machine(), link(2), three_layers(), kJob);
  EXPECT_DOUBLE_EQ(f.step_time_s.value, 11);
  EXPECT_DOUBLE_EQ(f.one_gpu_step_s, 8);
  EXPECT_DOUBLE_EQ(f.speedup.value, 2.0 * 8 / 11);
  EXPECT_DOUBLE_EQ(f.samples_per_s.value, 2.0 / 11);
  EXPECT_EQ(f.buckets, 3U);
  EXPECT_FALSE(f.extrapolated);
}

TEST(Forecasts, count_accumulated_samples) {
  Job job = kJob;
  job.strategy.micro_batches = 4;
  // 8 samples in 3 x 8 + 11 s against 1 in 8 s.
  EXPECT_DOUBLE_EQ(point_forecast(machine(), link(2), three_layers(), job).speedup.value,
                   8.0 / 35 * 8);
}

TEST(Forecasts, of_one_gpu_are_a_speedup_of_one_without_doubt) {
  Machine m = machine(0.1);
  m.residual = 0.05;
  const Forecast f = forecast(m, Link{}, three_layers(), test::one_bucket_per_tensor(1));
  EXPECT_EQ(f.speedup.low, 1);
  EXPECT_EQ(f.speedup.high, 1);
  EXPECT_GT(f.step_time_s.high, f.step_time_s.value);
  ForecastOptions draws;
  draws.method = IntervalMethod::monte_carlo;
  EXPECT_EQ(forecast(m, Link{}, three_layers(), test::one_bucket_per_tensor(1), draws).speedup.high,
            1);
}

// The plain step is compared with itself; one that accumulates with another step.
TEST(Forecasts, of_one_gpu_that_accumulates_are_a_speedup_in_doubt) {
  Machine m = machine(0.1);
  m.residual = 0.05;
  Job job = test::one_bucket_per_tensor(1);
  job.strategy.micro_batches = 4;
  ForecastOptions draws;
  draws.method = IntervalMethod::monte_carlo;
  for (const ForecastOptions& options : {ForecastOptions{}, draws}) {
    const Forecast f = forecast(m, Link{}, three_layers(), job, options);
    EXPECT_NEAR(f.speedup.high / f.speedup.value, std::exp(0.05 * kNormalQuantile90),
                0.02);  // 2000 draws
    EXPECT_NEAR(f.speedup.value / f.speedup.low, std::exp(0.05 * kNormalQuantile90),
                0.02);  // 2000 draws
    EXPECT_FALSE(f.verdict);
  }
}

TEST(Forecasts, with_sure_constants_have_no_width) {
  for (IntervalMethod method : {IntervalMethod::linear, IntervalMethod::monte_carlo}) {
    ForecastOptions options;
    options.method = method;
    const Forecast f = forecast(machine(), link(2), three_layers(), kJob, options);
    EXPECT_DOUBLE_EQ(f.step_time_s.low, 11);
    EXPECT_DOUBLE_EQ(f.step_time_s.high, 11);
    EXPECT_EQ(f.verdict, Verdict::pays);
  }
}

TEST(Forecasts, carry_the_links_error_by_its_share_of_the_step) {
  // 7.5 of 12.5 s are the queue of all-reduces from second 5 on: times 1.1 either way.
  const Forecast f = forecast(machine(), link(2.5, 0.1), three_layers(), kJob);
  EXPECT_DOUBLE_EQ(f.step_time_s.value, 12.5);
  EXPECT_NEAR(std::log(f.step_time_s.high / 12.5), kNormalQuantile90 * std::log(13.25 / 12.5),
              1e-9);
  EXPECT_NEAR(std::log(f.step_time_s.low / 12.5),
              kNormalQuantile90 * std::log((5 + 7.5 / 1.1) / 12.5), 1e-9);
  EXPECT_NEAR(f.sensitivity[static_cast<std::size_t>(Source::link)],
              kNormalQuantile90 * std::log(1.06), 1e-9);
  EXPECT_EQ(f.sensitivity[static_cast<std::size_t>(Source::compute)], 0);
  EXPECT_EQ(f.sensitivity[static_cast<std::size_t>(Source::host)], 0);
}

TEST(Forecasts, know_that_compute_errors_cancel_in_the_speedup_where_nothing_is_exposed) {
  const Forecast f = forecast(machine(0.1), link(1e-6), three_layers(), kJob);
  EXPECT_NEAR(f.step_time_s.relative_half_width(), 0.1 * kNormalQuantile90, 1e-4);
  EXPECT_LT(f.speedup.relative_half_width(), 1e-5);
}

TEST(Forecasts, add_a_residual_of_their_own_to_both_steps) {
  Machine m = machine();
  m.residual = 0.01;
  const Forecast f = forecast(m, link(2), three_layers(), kJob);
  EXPECT_NEAR(f.step_time_s.relative_half_width(), 0.01 * kNormalQuantile90, 1e-5);
  EXPECT_NEAR(f.speedup.relative_half_width(), 0.01 * std::sqrt(2) * kNormalQuantile90, 1e-5);
}

struct Configuration {
  const char* name;
  double compute_error;
  double link_seconds;
  double link_error;
  double residual;
};

TEST(Forecasts, by_linear_propagation_agree_with_monte_carlo_within_15_percent) {
  for (const Configuration& c :
       std::initializer_list<Configuration>{{"compute", 0.03, 0.1, 0.02, 0.005},
                                            {"link", 0.01, 6, 0.1, 0.01},
                                            {"both", 0.03, 2, 0.03, 0.01},
                                            {"residual", 0.005, 1, 0.01, 0.05},
                                            {"sure", 0.001, 1.2, 0.001, 0.001}}) {
    Machine m = machine(c.compute_error);
    m.residual = c.residual;
    const Link l = link(c.link_seconds, c.link_error);
    ForecastOptions options;
    options.method = IntervalMethod::monte_carlo;
    options.draws = 20000;
    const Forecast linear = forecast(m, l, three_layers(), kJob);
    const Forecast draws = forecast(m, l, three_layers(), kJob, options);
    for (const auto& [a, b] :
         {std::pair{linear.step_time_s, draws.step_time_s}, {linear.speedup, draws.speedup}}) {
      const double width = b.high - b.low;
      EXPECT_NEAR(a.high - a.low, width, 0.15 * width) << c.name;
      EXPECT_NEAR(a.low, b.low, 0.15 * width) << c.name;
      EXPECT_NEAR(a.high, b.high, 0.15 * width) << c.name;
    }
  }
}

TEST(Forecasts, know_which_way_a_kink_goes) {
  // Each all-reduce takes just the second in which layer 1 computes: 10 % more delays the last by
  // 0.1 and makes it 0.1 longer; as much less only shortens it.
  const Forecast f = forecast(machine(), link(1, 0.1), three_layers(), kJob);
  EXPECT_DOUBLE_EQ(f.step_time_s.value, 9);
  EXPECT_NEAR(std::log(f.step_time_s.high / 9), kNormalQuantile90 * std::log(9.2 / 9), 1e-9);
  EXPECT_NEAR(std::log(f.step_time_s.low / 9), kNormalQuantile90 * std::log((8 + 1 / 1.1) / 9),
              1e-9);
}

// Nine steps of other batches that took `ratio` times what was forecast.
std::vector<JudgedStep> judged_steps(const Link& over, double ratio) {
  const StepKind kind = kind_of(three_layers().name, over.name, kJob, Regime::gpu_bound);
  std::vector<JudgedStep> steps;
  for (int i = 1; i <= 9; ++i)
    steps.push_back({kind, "any", kJob.strategy, static_cast<double>(i), ratio, {}});
  return steps;
}

TEST(Forecasts, take_a_learned_half_width_over_everything_else) {
  Machine m = machine(0.2);
  m.residual = 0.3;
  const Link over = link(2, 0.2);
  std::vector<JudgedStep> steps = judged_steps(over, 1.07);
  const Forecast alone = forecast(m, over, three_layers(), kJob);
  Learned learned(steps);
  const ForecastOptions options{.learned = &learned};
  Forecast f = forecast(m, over, three_layers(), kJob, options);
  EXPECT_DOUBLE_EQ(f.step_time_s.value, 11);
  EXPECT_NEAR(f.step_time_s.low, 11 / 1.07, 1e-12);
  EXPECT_NEAR(f.step_time_s.high, 11 * 1.07, 1e-12);
  EXPECT_DOUBLE_EQ(f.samples_per_s.low, alone.samples_per_s.value * 11 / f.step_time_s.high);
  ASSERT_TRUE(f.learned);
  EXPECT_EQ(f.learned->steps, 9U);
  // No speedup was measured: its interval is the constants'.
  EXPECT_DOUBLE_EQ(f.speedup.low, alone.speedup.low);
  for (JudgedStep& step : steps) step.speedup_ratio = 0.95;
  learned = Learned(steps);
  f = forecast(m, over, three_layers(), kJob, options);
  EXPECT_NEAR(f.speedup.low, f.speedup.value * 0.95, 1e-12);
  EXPECT_NEAR(f.speedup.high, f.speedup.value / 0.95, 1e-12);
  // Steps of another link say nothing of this one.
  Link other = over;
  other.name = "another";
  f = forecast(m, other, three_layers(), kJob, options);
  EXPECT_FALSE(f.learned);
  EXPECT_DOUBLE_EQ(f.step_time_s.high, alone.step_time_s.high);
}

TEST(Forecasts, learn_nothing_of_a_step_that_its_data_paces) {
  const Link over = link(2);
  const Learned learned(judged_steps(over, 1.07));
  Job job = kJob;
  job.loader = Loader{job.samples_per_step() / 20, false};
  const Forecast f = forecast(machine(), over, three_layers(), job, {.learned = &learned});
  EXPECT_DOUBLE_EQ(f.step_time_s.high, 20);
  EXPECT_FALSE(f.learned);
}

TEST(Forecasts, outside_the_calibration_are_no_surer_than_the_constants_are) {
  const Link over = link(2);
  Machine m = machine();
  m.residual = 0.1;
  Job job = kJob;
  job.batch_per_rank *= 64;  // which no product was measured at
  const Forecast alone = forecast(m, over, three_layers(), job);
  ASSERT_TRUE(alone.extrapolated);
  const Learned narrow(judged_steps(over, 1.001));
  EXPECT_DOUBLE_EQ(forecast(m, over, three_layers(), job, {.learned = &narrow}).step_time_s.high,
                   alone.step_time_s.high);
  const Learned wide(judged_steps(over, 4));
  EXPECT_NEAR(forecast(m, over, three_layers(), job, {.learned = &wide}).step_time_s.high,
              4 * alone.step_time_s.value, 1e-9);
}

TEST(Forecasts, give_throughput_the_steps_interval_turned_round) {
  Machine m = machine();
  m.residual = 0.1;
  const Forecast f = forecast(m, link(2), three_layers(), kJob);
  EXPECT_DOUBLE_EQ(f.samples_per_s.low, 2 / f.step_time_s.high);
  EXPECT_DOUBLE_EQ(f.samples_per_s.high, 2 / f.step_time_s.low);
}

TEST(Forecasts, never_forecast_a_negative_step) {
  Machine m = machine();
  m.residual = 2;
  for (IntervalMethod method : {IntervalMethod::linear, IntervalMethod::monte_carlo}) {
    ForecastOptions options;
    options.method = method;
    const Forecast f = forecast(m, link(2), three_layers(), kJob, options);
    EXPECT_GE(f.step_time_s.low, 0);
    EXPECT_TRUE(std::isfinite(f.samples_per_s.high));
    EXPECT_EQ(f.verdict, Verdict::too_close);
  }
}

TEST(Forecasts, drawn_with_one_seed_are_the_same) {
  Machine m = machine(0.05);
  m.residual = 0.02;
  ForecastOptions options;
  options.method = IntervalMethod::monte_carlo;
  const Forecast a = forecast(m, link(2, 0.05), three_layers(), kJob, options);
  const Forecast b = forecast(m, link(2, 0.05), three_layers(), kJob, options);
  EXPECT_EQ(a.step_time_s.low, b.step_time_s.low);
  options.seed = 2;
  EXPECT_NE(a.step_time_s.low,
            forecast(m, link(2, 0.05), three_layers(), kJob, options).step_time_s.low);
}

TEST(Forecasts, measure_speedup_against_the_machines_own_timing_of_that_step) {
  Machine m = machine();
  m.residual = 0.01;
  m.one_gpu_steps.push_back({three_layers().name,
                             1,
                             DType::fp32,
                             Optimizer::sgd,
                             Engine::torch,
                             {Seconds(8.8), 0.02, ""}});
  const Forecast f = forecast(m, link(2), three_layers(), kJob);
  EXPECT_TRUE(f.one_gpu_measured);
  EXPECT_NEAR(f.work_scale, 1.1, 1e-12);
  // The second bucket is ready 7 s of compute into the step and ends, with the third, 4 s later.
  const double step = 7 * std::sqrt(1.1) + 4;
  EXPECT_NEAR(f.step_time_s.value, step, 1e-12);
  EXPECT_NEAR(f.speedup.value, 2 * 8.8 / step, 1e-12);
  EXPECT_GT(f.speedup.relative_half_width(), std::hypot(0.01, 0.02) * kNormalQuantile90)
      << "that two GPUs have it too was not timed";
  Job other = kJob;
  other.optimizer = Optimizer::adamw;
  EXPECT_FALSE(forecast(m, link(2), three_layers(), other).one_gpu_measured);
}

TEST(Forecasts, never_train_faster_than_loaders_feed) {
  const Forecast free = forecast(machine(), link(2, 0.3), three_layers(), kJob);
  const double rate = std::sqrt(free.samples_per_s.value * free.samples_per_s.high);
  Job job = kJob;
  job.loader = Loader{rate, false};
  const Forecast fed = forecast(machine(), link(2, 0.3), three_layers(), job);
  EXPECT_NEAR(fed.samples_per_s.high, rate, 1e-12);
  EXPECT_EQ(fed.samples_per_s.value, free.samples_per_s.value);
  EXPECT_LT(fed.speedup.high, free.speedup.high);
  EXPECT_GE(fed.speedup.high, fed.speedup.value);
}

TEST(Forecasts, of_a_link_that_is_hardly_known_stay_above_zero_and_near_linear) {
  const Forecast f = forecast(machine(), link(50, 3), three_layers(), kJob);
  EXPECT_GT(f.step_time_s.low, 0);
  EXPECT_GT(f.samples_per_s.high, f.samples_per_s.value);
  EXPECT_LE(f.speedup.high, 2.2);
}

TEST(Verdicts, depend_on_where_one_lies) {
  EXPECT_EQ(verdict_of({1.2, 1.01, 1.4}), Verdict::pays);
  EXPECT_EQ(verdict_of({0.8, 0.7, 0.99}), Verdict::does_not_pay);
  EXPECT_EQ(verdict_of({1.2, 0.99, 1.4}), Verdict::too_close);
  EXPECT_EQ(verdict_of({1.0, 1.0, 1.0}), Verdict::too_close);
  EXPECT_EQ(name(Verdict::does_not_pay), "does_not_pay");
}

TEST(PointForecasts, are_the_same_however_often_asked_and_in_whatever_order) {
  Machine m = machine();
  m.one_gpu_steps.push_back(
      {three_layers().name, 1, DType::fp32, Optimizer::sgd, Engine::torch, {Seconds(10), 0.1, ""}});
  const ProductTable products(m, DType::fp32);
  PointForecasts forecasts(m, products, three_layers());
  for (const double batch : {1.0, 1.0, 2.0, 1.0}) {
    for (const int gpus : {2, 1, 4}) {
      for (const double seconds : {2.0, 0.1}) {
        Job job = kJob;
        job.gpus = gpus;
        job.batch_per_rank = batch;
        job.strategy.micro_batches = gpus;
        const Forecast again = forecasts.of(link(seconds), job);
        const Forecast once = point_forecast(m, link(seconds), three_layers(), job);
        ASSERT_EQ(again.speedup.value, once.speedup.value);
        ASSERT_EQ(again.one_gpu_step_s, once.one_gpu_step_s);
        ASSERT_EQ(again.one_gpu_measured, once.one_gpu_measured);
      }
    }
  }
}

TEST(Forecasts, on_one_gpu_are_of_one_speedup_whatever_the_method) {
  Job job = kJob.one_gpu();
  job.strategy.micro_batches = 4;
  ForecastOptions options;
  options.method = IntervalMethod::monte_carlo;
  const Interval linear = forecast(machine(), link(2), three_layers(), job).speedup;
  const Interval drawn = forecast(machine(), link(2), three_layers(), job, options).speedup;
  EXPECT_EQ(linear.high, linear.value);
  EXPECT_EQ(drawn.high, linear.high);
  EXPECT_EQ(drawn.low, linear.low);
}

TEST(Forecasts, on_one_gpu_and_on_several_rest_on_the_same_step) {
  Machine m = machine();
  m.one_gpu_steps.push_back(
      {three_layers().name, 1, DType::fp32, Optimizer::sgd, Engine::torch, {Seconds(10), 0.1, ""}});
  const auto on = [&](const Job& job) { return forecast(m, link(2), three_layers(), job); };
  const Job one = kJob.one_gpu();
  const Forecast f = on(one);
  EXPECT_NEAR(f.step_time_s.value, 10, 1e-12);
  EXPECT_NEAR(f.step_time_s.high, 10 * (1 + 0.1 * kNormalQuantile90), 1e-9);
  EXPECT_DOUBLE_EQ(f.step.total().value(), f.step_time_s.value) << "the terms still add up";
  EXPECT_NEAR(f.samples_per_s.value, 0.1, 1e-12);
  EXPECT_NEAR(f.speedup.value, 1, 1e-12);
  EXPECT_NEAR(f.work_scale,
              10 / forecast(machine(), link(2), three_layers(), one).step_time_s.value, 1e-12);
  const Forecast two = on(kJob);
  EXPECT_NEAR(two.speedup.value, two.samples_per_s.value / f.samples_per_s.value, 1e-12);
  Job accumulating = one;
  accumulating.strategy.micro_batches = 4;
  const Forecast four = on(accumulating);
  EXPECT_NEAR(four.speedup.value, four.samples_per_s.value / f.samples_per_s.value, 1e-12);
  Job fed = one;
  fed.loader = Loader{0.05, false};
  EXPECT_DOUBLE_EQ(on(fed).samples_per_s.value, 0.05);
  EXPECT_NEAR(on(fed).step.term(Term::loader).value(), 10, 1e-12);
}

}  // namespace
}  // namespace ddpx
