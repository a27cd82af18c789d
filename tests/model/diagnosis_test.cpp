#include "model/diagnosis.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ddpx {
namespace {

// 100 ms on one GPU, 180 ms on four.
Observation slow_run() {
  Observation o;
  o.one = StepPoint{1, Seconds(0.100), {}, {}};
  o.many = StepPoint{4, Seconds(0.180), {}, {}};
  return o;
}

std::vector<Seconds> times(std::initializer_list<double> seconds) {
  std::vector<Seconds> result;
  for (double s : seconds) result.emplace_back(s);
  return result;
}

TEST(Diagnosis, finds_nothing_where_nothing_was_given) {
  const Diagnosis d = diagnose(slow_run());
  EXPECT_EQ(d.verdict, Cause::unexplained);
  EXPECT_DOUBLE_EQ(d.excess->value(), 0.080);
  EXPECT_FALSE(d.not_communication) << "it was not weighed";
}

TEST(Diagnosis, has_nothing_to_explain_where_the_step_is_as_long) {
  Observation o = slow_run();
  o.many.time = Seconds(0.104);
  o.exchange = ExchangeForecast{Seconds(0.2), 0, {}};
  EXPECT_EQ(diagnose(o).verdict, Cause::none);
}

TEST(Diagnosis, blames_communication_only_where_it_explains_half) {
  Observation o = slow_run();
  o.exchange = ExchangeForecast{Seconds(0.070), 0.1, {}};
  EXPECT_EQ(diagnose(o).verdict, Cause::communication);
  o.exchange = ExchangeForecast{Seconds(0.070), 0.9, {}};
  EXPECT_EQ(diagnose(o).verdict, Cause::latency);
  o.exchange = ExchangeForecast{Seconds(0.050), 0.4, {}};  // neither half alone, together more
  EXPECT_EQ(diagnose(o).verdict, Cause::communication);
  o.exchange = ExchangeForecast{Seconds(0.010), 0.5, {}};
  EXPECT_EQ(diagnose(o).verdict, Cause::unexplained);
  EXPECT_TRUE(diagnose(o).not_communication);
  o.exchange->high = Seconds(0.050);
  EXPECT_FALSE(diagnose(o).not_communication) << "the end of the interval explains it";
}

TEST(Diagnosis, names_a_slow_rank_from_compute_alone) {
  Observation o = slow_run();
  o.ranks.compute = times({0.100, 0.175, 0.101, 0.099});
  Diagnosis d = diagnose(o);
  EXPECT_EQ(d.verdict, Cause::slow_rank);
  EXPECT_EQ(d.findings.front().rank, 1);
  EXPECT_NEAR(d.findings.front().explains.value(), 0.075, 1e-12);
  // Wall times, equal or not, are no evidence.
  o.ranks = {};
  o.ranks.wall = times({0.293, 0.292, 0.293, 0.293});
  EXPECT_EQ(diagnose(o).verdict, Cause::unexplained);
  o.ranks.wall = times({0.180, 0.280, 0.180, 0.180});
  EXPECT_EQ(diagnose(o).verdict, Cause::unexplained);
  EXPECT_TRUE(diagnose(o).findings.empty());
}

TEST(Diagnosis, holds_the_ranks_compute_against_one_gpus_step_too) {
  Observation o = slow_run();
  o.ranks.compute = times({0.170, 0.171, 0.169, 0.170});
  const Diagnosis d = diagnose(o);
  EXPECT_EQ(d.verdict, Cause::slow_compute) << "alike, and all slower than one GPU alone";
  EXPECT_NEAR(d.finding(Cause::slow_compute)->explains.value(), 0.070, 1e-12);
  EXPECT_FALSE(d.finding(Cause::slow_rank)->rank);
  o.ranks.compute = times({0.118, 0.142, 0.118, 0.118});
  EXPECT_EQ(diagnose(o).verdict, Cause::slow_rank) << "only together, and of the two the larger";
  o.ranks.compute = times({0.130, 0.150, 0.130, 0.130});
  EXPECT_EQ(diagnose(o).verdict, Cause::slow_compute) << "here the other";
  o.ranks.compute = times({0.104, 0.170, 0.104, 0.104});
  EXPECT_EQ(diagnose(o).finding(Cause::slow_compute), nullptr) << "within 5 %";
  o.work = 2;  // two micro-batches: 200 ms of one GPU
  o.many.time = Seconds(0.400);
  o.ranks.compute = times({0.200, 0.380, 0.200, 0.200});
  EXPECT_EQ(diagnose(o).finding(Cause::slow_compute), nullptr);
  o.one.reset();
  EXPECT_EQ(diagnose(o).finding(Cause::slow_compute), nullptr);
}

TEST(Diagnosis, holds_a_rank_slow_from_five_percent_on) {
  Observation o = slow_run();
  o.ranks.compute = times({0.100, 0.104, 0.100, 0.100});
  EXPECT_FALSE(diagnose(o).findings.front().rank);
  o.ranks.compute = times({0.100, 0.106});
  EXPECT_EQ(diagnose(o).findings.front().rank, 1) << "of two the faster is the measure";
}

TEST(Diagnosis, takes_idle_time_for_the_hosts_once_the_loaders_wait_is_taken_out) {
  Observation o = slow_run();
  o.many.busy = 0.5;
  EXPECT_EQ(diagnose(o).verdict, Cause::host);
  EXPECT_NEAR(diagnose(o).finding(Cause::host)->explains.value(), 0.090, 1e-12);
  o.one->busy = 0.8;  // 20 ms idle on one GPU too
  EXPECT_NEAR(diagnose(o).finding(Cause::host)->explains.value(), 0.070, 1e-12);
  o.many.data = Seconds(0.060);
  EXPECT_EQ(diagnose(o).verdict, Cause::loader);
  EXPECT_NEAR(diagnose(o).finding(Cause::host)->explains.value(), 0.010, 1e-12);
}

TEST(Diagnosis, blames_the_loader_by_its_wait_or_by_its_rate) {
  Observation o = slow_run();
  o.fed = Seconds(0.175);
  EXPECT_EQ(diagnose(o).verdict, Cause::loader);
  o.fed = Seconds(0.090);
  EXPECT_EQ(diagnose(o).verdict, Cause::unexplained);
  EXPECT_EQ(diagnose(o).finding(Cause::loader)->explains.value(), 0) << "it keeps up";
  o.fed.reset();
  o.ranks.data = times({0.010, 0.010, 0.200, 0.011});
  EXPECT_EQ(diagnose(o).verdict, Cause::loader);
  EXPECT_EQ(diagnose(o).findings.front().rank, 2);
}

TEST(Diagnosis, without_the_step_on_one_gpu_looks_at_shares_of_the_step) {
  Observation o = slow_run();
  o.one.reset();
  o.ranks.compute = times({0.060, 0.150, 0.060, 0.060});
  EXPECT_EQ(diagnose(o).verdict, Cause::slow_rank);
  EXPECT_FALSE(diagnose(o).excess);
  o.ranks.compute = times({0.060, 0.061, 0.060, 0.060});
  EXPECT_EQ(diagnose(o).verdict, Cause::unexplained);
}

TEST(Diagnosis, counts_the_work_of_strong_scaling_and_accumulation) {
  Observation o = slow_run();
  o.work = 0.25;  // a quarter of the batch
  EXPECT_DOUBLE_EQ(diagnose(o).excess->value(), 0.155);
}

TEST(SuspectPoints, are_those_no_link_explains) {
  // 15.4, 4.5 and 14.0 samples/s on 1, 2 and 4 GPUs (case U002): the pair is broken.
  auto flags = flag_points(std::vector<MeasuredSpeedup>{{1, 1}, {2, 4.5 / 15.4}, {4, 14.0 / 15.4}});
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].gpus, 2);
  EXPECT_EQ(flags[0].fault, PointFault::slower_than_larger);
  EXPECT_NEAR(flags[0].ratio, 14.0 / 4 / (4.5 / 2), 1e-12);
  // 13, 18 and 59 (case U017): four GPUs do more than four times one.
  flags = flag_points(std::vector<MeasuredSpeedup>{{1, 1}, {2, 18.0 / 13}, {4, 59.0 / 13}});
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].gpus, 4);
  EXPECT_EQ(flags[0].fault, PointFault::more_than_linear);
}

TEST(SuspectPoints, are_none_where_each_gpu_does_less_the_more_there_are) {
  EXPECT_TRUE(
      flag_points(std::vector<MeasuredSpeedup>{{1, 1}, {2, 1.89}, {4, 3.64}, {8, 7.21}}).empty());
  EXPECT_TRUE(flag_points(std::vector<MeasuredSpeedup>{{1, 1}, {2, 2.05}}).empty())
      << "within what two runs differ by";
  EXPECT_TRUE(flag_points({}).empty());
}

}  // namespace
}  // namespace ddpx
