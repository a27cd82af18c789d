#include "model/conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "model/forecast.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::one_bucket_per_tensor;
using test::step;
using test::term;
using test::three_layer_machine;
using test::total;

// Over a link of 1 MB/s.
std::array<Condition, kConditions> found_of(const Machine& m, const Job& job) {
  const Link link = line_link(0, 1e6);
  return conditions(step(m, link, job), step(m, link, without_sharing(job)), 0, job);
}

TEST(SlowestRank, of_equal_ranks_is_the_expected_maximum) {
  // Order statistics of the normal distribution (Harter 1961).
  EXPECT_NEAR(slowest_rank(0.1, 2, 0), 0.05642, 1e-5);
  EXPECT_NEAR(slowest_rank(0.1, 8, 0), 0.14236, 1e-5);
  EXPECT_EQ(slowest_rank(0.1, 1, 0.3), 0) << "one rank waits for none";
  EXPECT_EQ(slowest_rank(0, 4, 0), 0);
}

TEST(SlowestRank, with_one_late_joins_the_maximum_and_is_not_added_to_it) {
  EXPECT_DOUBLE_EQ(slowest_rank(0, 8, 0.2), 0.2);
  // Late by far: it is the slowest. Late by nothing: as above, by another integral.
  EXPECT_NEAR(slowest_rank(0.01, 8, 0.5), 0.5, 1e-6);
  EXPECT_NEAR(slowest_rank(0.1, 8, 1e-9), 0.14236, 2e-5);
  // Two ranks, delay d: E max = d Phi(d/sqrt 2) + sqrt 2 phi(d/sqrt 2) (Clark 1961); d = 1: 1.1997.
  EXPECT_NEAR(slowest_rank(0.1, 2, 0.1), 0.11997, 1e-4);
}

TEST(SlowestRank, never_falls_with_ranks_spread_or_delay) {
  for (int ranks = 2; ranks < 64; ranks *= 2) {
    for (double delay : {0.0, 0.02, 0.1}) {
      EXPECT_GE(slowest_rank(0.05, 2 * ranks, delay), slowest_rank(0.05, ranks, delay));
      EXPECT_GE(slowest_rank(0.05, ranks, delay + 0.01), slowest_rank(0.05, ranks, delay));
      EXPECT_GE(slowest_rank(0.06, ranks, delay), slowest_rank(0.05, ranks, delay) - 1e-9);
    }
  }
}

TEST(Steps, wait_for_the_fullest_or_the_slowest_rank_whichever_is_later) {
  Job job = one_bucket_per_tensor();
  job.imbalance = 0.25;
  EXPECT_DOUBLE_EQ(term(step(three_layer_machine(), line_link(0, 1e6), job), Term::imbalance),
                   0.25 * 8);
  job.straggler = 0.5;
  EXPECT_DOUBLE_EQ(term(step(three_layer_machine(), line_link(0, 1e6), job), Term::imbalance),
                   0.5 * 8);
  EXPECT_FALSE(job.one_gpu().straggler);
}

TEST(Steps, take_as_long_as_their_data) {
  // 11 s by the model for 64 samples of two ranks.
  Job job = one_bucket_per_tensor();
  const double samples = job.samples_per_step();
  job.loader = Loader{samples / 20, false};
  const Step fed = step(three_layer_machine(), line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(fed), 20);
  EXPECT_DOUBLE_EQ(term(fed, Term::loader), 9);
  EXPECT_EQ(fed.bound_by(), BoundBy::loader);
  job.loader = Loader{samples / 20, true};  // twice that on two ranks: 10 s
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), line_link(0, 1e6), job)), 11);
}

TEST(Throughput, is_the_smaller_of_model_and_loader_on_any_count) {
  const Machine m = three_layer_machine();
  const Network& network = test::three_layers();
  Job job = one_bucket_per_tensor();
  const Forecast free = point_forecast(m, line_link(0, 1e6), network, job);
  for (double share : {0.1, 0.4, 0.9, 1.1, 3.0}) {
    job.loader = Loader{share * free.samples_per_s.value, false};
    const Forecast f = point_forecast(m, line_link(0, 1e6), network, job);
    EXPECT_NEAR(f.samples_per_s.value, std::min(1.0, share) * free.samples_per_s.value, 1e-9);
  }
  // A loader that one GPU exhausts makes every other GPU useless.
  job.loader = Loader{0.1 * free.samples_per_s.value, false};
  EXPECT_DOUBLE_EQ(point_forecast(m, line_link(0, 1e6), network, job).speedup.value, 1);
}

// A step that waits ten times as long for its data as it works is that long however fast the
// device.
TEST(Throughput, of_loaders_that_set_the_pace_is_as_sure_as_they_are) {
  Machine m = three_layer_machine();
  m.residual = 0.05;
  const Network& network = test::three_layers();
  Job job = one_bucket_per_tensor();
  const Forecast free = forecast(m, line_link(0, 1e6), network, job);
  EXPECT_GT(free.step_time_s.high, 1.05 * free.step_time_s.value);
  job.loader = Loader{free.samples_per_s.value / 11, false};
  const Forecast fed = forecast(m, line_link(0, 1e6), network, job);
  EXPECT_NEAR(fed.step_time_s.value, 11 * free.step_time_s.value, 1e-9);
  EXPECT_DOUBLE_EQ(fed.step_time_s.low, fed.step_time_s.value);
  EXPECT_DOUBLE_EQ(fed.step_time_s.high, fed.step_time_s.value);
}

TEST(Conditions, each_carry_their_own_figure) {
  Job job = one_bucket_per_tensor();
  job.imbalance = 0.25;
  job.straggler = 0.5;
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);  // 8 compute + 3 exposed + 4
  ASSERT_DOUBLE_EQ(total(s), 15);
  const auto found = found_of(three_layer_machine(), job);
  EXPECT_DOUBLE_EQ(found[0].figure, 3.0 / 15);
  EXPECT_DOUBLE_EQ(found[0].lost, 3.0 / 15);
  EXPECT_DOUBLE_EQ(found[1].figure, 1.25);
  EXPECT_DOUBLE_EQ(found[1].lost, 0.25 * 8 / 15);
  EXPECT_DOUBLE_EQ(found[2].figure, 1.5);
  EXPECT_DOUBLE_EQ(found[2].lost, 0.5 * 8 / 15);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(found[i].holds()) << name(found[i].kind);
}

// The same step of 15 s waits for data until 30 s: without any of the others it would as well.
TEST(Conditions, cost_nothing_that_ends_before_the_data_is_there) {
  Job job = one_bucket_per_tensor();
  job.straggler = 0.5;
  const auto fed = [&](double seconds) {
    job.loader = Loader{job.samples_per_step() / seconds, false};
    return found_of(three_layer_machine(), job);
  };
  EXPECT_DOUBLE_EQ(fed(30)[0].lost, 0);
  EXPECT_DOUBLE_EQ(fed(30)[2].lost, 0);
  EXPECT_DOUBLE_EQ(fed(30)[3].figure, 0.5);
  EXPECT_DOUBLE_EQ(fed(30)[3].lost, 0.5);
  // 11 s without the rank that is 4 s late, which costs 3 s beside data of 12 s.
  EXPECT_DOUBLE_EQ(fed(12)[2].lost, 3.0 / 15);
  EXPECT_DOUBLE_EQ(fed(12)[3].lost, 0);
}

// 8 s of compute, 3 s exposed, and a host of 10 s: 1 s of the exchange shows, and of the rank that
// is 4 s late all but what the host hides; behind a host of 14 s nothing of either.
TEST(Conditions, cost_only_what_the_host_does_not_hide) {
  Machine m = three_layer_machine();
  HostCosts& host = m.host[static_cast<std::size_t>(Engine::torch)].emplace();
  Job job = one_bucket_per_tensor();
  job.straggler = 0.5;
  const auto with_host = [&](double seconds) {
    host.step_per_tensor.value = Seconds(seconds / 3);
    const Step s = step(m, line_link(0, 1e6), job);
    EXPECT_DOUBLE_EQ(s.host.value(), seconds);
    const auto found = found_of(m, job);
    return std::array{found[0].lost * total(s), found[2].lost * total(s), total(s)};
  };
  EXPECT_THAT(with_host(10), testing::Pointwise(testing::DoubleNear(1e-12), {1.0, 4.0, 15.0}));
  EXPECT_THAT(with_host(14), testing::Pointwise(testing::DoubleNear(1e-12), {0.0, 1.0, 15.0}));
  EXPECT_THAT(with_host(20), testing::Pointwise(testing::DoubleNear(1e-12), {0.0, 0.0, 20.0}));
}

TEST(Conditions, count_what_sharing_adds_to_a_host_that_sets_the_pace) {
  // Without sharing the host takes 3 tensors x 4 s, with it 3 + 3 more: 6 of 18 s, though the
  // device is done with the exchange at 11.
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor.value = Seconds(4);
  host.sync_per_tensor.value = Seconds(1);
  host.per_bucket.value = Seconds(1);
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  Job job = one_bucket_per_tensor();
  ASSERT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 18);
  const Condition sharing = found_of(m, job).front();
  EXPECT_NEAR(sharing.lost, 6.0 / 18, 1e-12);
  EXPECT_FALSE(sharing.holds());
}

TEST(Conditions, that_nobody_stated_are_unknown_and_cost_nothing) {
  const Job job = one_bucket_per_tensor();
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);
  const auto found = found_of(three_layer_machine(), job);
  EXPECT_TRUE(found[0].known);
  for (std::size_t i = 1; i < kConditions; ++i) {
    EXPECT_FALSE(found[i].known) << name(found[i].kind);
    EXPECT_EQ(found[i].lost, 0);
  }
  EXPECT_DOUBLE_EQ(found[3].figure, job.samples_per_step() / total(s)) << "what it would need";
}

TEST(Conditions, that_are_known_to_be_ideal_are_known_and_cost_nothing) {
  Job job = one_bucket_per_tensor();
  const Step without = step(three_layer_machine(), line_link(0, 1e6), job);
  job.imbalance = 0;
  job.straggler = 0;
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);
  EXPECT_EQ(total(s), total(without));
  const auto found = found_of(three_layer_machine(), job);
  for (std::size_t i : {1U, 2U}) {
    EXPECT_TRUE(found[i].known && found[i].holds()) << name(found[i].kind);
    EXPECT_EQ(found[i].figure, 1);
    EXPECT_EQ(found[i].lost, 0);
  }
}

}  // namespace
}  // namespace ddpx
