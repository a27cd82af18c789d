#include "model/baselines.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/expect_input_error.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::one_bucket_per_tensor;
using test::three_layers;

// Three layers: forward 3 s, backward 5 s, optimizer 1 s on one GPU; 6 MB of gradients.
Machine machine_with_optimizer() {
  Machine m = test::machine_for(three_layers(), 64);
  m.optimizer_bandwidth.value = BytesPerSecond(18e6);
  return m;
}

Job job_on(int gpus = 2) {
  Job job = one_bucket_per_tensor(gpus);
  job.batch_per_rank = 64;
  return job;
}

// The link's latency is known, and ignored on purpose.
const Link& slow_link() {
  static const Link kSlow = line_link(0.5, 1e6);
  return kSlow;
}

double seconds(Baseline b, const Job& job, const Machine& m = machine_with_optimizer(),
               const Link& l = slow_link(), double slowdown = 1.5) {
  return baseline_step(b, m, l, three_layers(), job, slowdown).value();
}

TEST(B0, is_n_times_the_throughput) {
  Job job = job_on();
  EXPECT_DOUBLE_EQ(seconds(Baseline::b0, job), 9);
  job.strategy.micro_batches = 4;
  EXPECT_DOUBLE_EQ(seconds(Baseline::b0, job), 36);
  job.strategy.micro_batches = 1;
  job.scaling = Scaling::strong;
  EXPECT_DOUBLE_EQ(seconds(Baseline::b0, job), 4.5);
}

TEST(B1, is_the_larger_of_compute_and_ring_time) {
  EXPECT_DOUBLE_EQ(seconds(Baseline::b1, job_on()), 9);
  EXPECT_DOUBLE_EQ(seconds(Baseline::b1, job_on(), machine_with_optimizer(), line_link(0.5, 1e5)),
                   60);
  EXPECT_DOUBLE_EQ(seconds(Baseline::b1, job_on(4), machine_with_optimizer(), line_link(0.5, 4e5)),
                   22.5);  // x 1.5
}

TEST(B2, is_their_sum) {
  Job job = job_on();
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job), 15);
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job_on(4)), 9 + 9);
  job.strategy.compression = DType::fp16;
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job), 12);
  job.strategy.compression.reset();
  job.strategy.micro_batches = 3;
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job), 3 * 8 + 1 + 6);
}

TEST(B3, queues_buckets_behind_an_evenly_priced_backward) {
  // Layers end at 4.67, 6.33 and 8; the link runs without pause from 4.67 on.
  EXPECT_NEAR(seconds(Baseline::b3, job_on()), 3 + 5.0 / 3 + 6 + 1, 1e-12);
  // A fast link exposes the last bucket alone.
  EXPECT_NEAR(seconds(Baseline::b3, job_on(), machine_with_optimizer(), line_link(0, 2e7)),
              8 + 0.1 + 1, 1e-12);
}

TEST(B4, slows_compute_while_the_link_is_busy) {
  // Layer 2 has 2 s of all-reduce beside it: 1.33 s done at 2/3 speed, 0.33 s left, ends at 7;
  // layer 1 likewise at 9.33, its all-reduce at 11.33.
  EXPECT_NEAR(seconds(Baseline::b4, job_on()), 11 + 1.0 / 3 + 1, 1e-12);
  EXPECT_NEAR(seconds(Baseline::b4, job_on(), machine_with_optimizer(), slow_link(), 1.0),
              seconds(Baseline::b3, job_on()), 1e-12);
}

TEST(Baselines, know_that_one_fsdp_unit_overlaps_nothing) {
  Job job = job_on();
  job.strategy = parse_strategy("fsdp");
  EXPECT_DOUBLE_EQ(seconds(Baseline::b1, job), 9);
  for (Baseline b : {Baseline::b2, Baseline::b3, Baseline::b4})
    EXPECT_DOUBLE_EQ(seconds(b, job), 15);
  job.strategy.micro_batches = 3;
  EXPECT_DOUBLE_EQ(seconds(Baseline::b3, job), 25 + 18);
}

TEST(Baselines, share_nothing_on_one_gpu_and_without_sync) {
  Job silent = job_on();
  silent.strategy = parse_strategy("no-sync");
  for (Baseline b : {Baseline::b0, Baseline::b1, Baseline::b2, Baseline::b3, Baseline::b4}) {
    EXPECT_DOUBLE_EQ(seconds(b, silent), 9);
    EXPECT_DOUBLE_EQ(seconds(b, job_on(1), machine_with_optimizer(), Link{}), 9);
  }
}

TEST(Baselines, start_from_the_measured_one_gpu_step_where_there_is_one) {
  Machine m = machine_with_optimizer();
  m.one_gpu_steps.push_back(
      {three_layers().name, 64, DType::fp32, Optimizer::sgd, Engine::torch, {Seconds(18), 0, ""}});
  EXPECT_DOUBLE_EQ(seconds(Baseline::b0, job_on(), m), 18);
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job_on(), m), 18 + 6);
}

TEST(Baselines, stretch_a_one_gpu_step_that_the_host_bounds) {
  Machine m = machine_with_optimizer();
  m.host[static_cast<std::size_t>(Engine::torch)] = HostCosts{};
  m.host[static_cast<std::size_t>(Engine::torch)]->step_per_tensor.value =
      Seconds(4);  // 12 s in all
  EXPECT_DOUBLE_EQ(seconds(Baseline::b0, job_on(), m), 12);
  EXPECT_DOUBLE_EQ(seconds(Baseline::b2, job_on(), m), 12 + 6);
}

TEST(Baselines, that_need_measured_speedups_or_a_bandwidth_say_so) {
  for (Baseline b : {Baseline::b5, Baseline::b6}) {
    test::expect_input_error([&] { static_cast<void>(seconds(b, job_on())); },
                             {name(b), "measured speedups"});
  }
  test::expect_input_error(
      [&] { static_cast<void>(seconds(Baseline::b2, job_on(), machine_with_optimizer(), Link{})); },
      {"link"});
  Job none = job_on();
  none.gpus = 0;
  test::expect_input_error([&] { static_cast<void>(seconds(Baseline::b2, none)); }, {"--gpus"});
}

TEST(Baselines, have_names_and_titles_of_their_own) {
  std::set<std::string_view> seen;
  for (Baseline b : kBaselines) {
    EXPECT_EQ(name(b).size(), 2U);
    seen.insert(name(b));
    seen.insert(title(b));
  }
  EXPECT_EQ(seen.size(), 14U);
}

}  // namespace
}  // namespace ddpx
