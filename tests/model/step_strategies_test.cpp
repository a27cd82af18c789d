// Strategies and costs besides plain DDP, on the same steps of whole seconds as step_test.cpp.
#include "model/step.hpp"

#include <gtest/gtest.h>

#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::one_bucket_per_tensor;
using test::step;
using test::term;
using test::three_layer_machine;
using test::total;

TEST(CompressedSteps, halve_the_bytes_and_keep_part_of_the_overlap) {
  // 1 s each: 5-6, 7-8, 8-9; without any overlap 8 + 3.
  Job job = one_bucket_per_tensor();
  job.strategy.compression = DType::fp16;
  for (const auto& [kept, expected] : {std::pair{1.0, 9.0}, {0.5, 10.0}, {0.0, 11.0}}) {
    Machine m = three_layer_machine();
    m.hook_overlap = {kept, 0, ""};
    const Step s = step(m, line_link(0, 1e6), job);
    EXPECT_DOUBLE_EQ(total(s), expected) << kept;
    EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), expected - 8) << kept;
  }
}

TEST(CompressedSteps, cast_10_bytes_per_parameter_before_and_6_after) {
  // 500,000 parameters a bucket; 1 s per 5 MB: 1 s before, 0.6 s after each of three buckets.
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(5e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  Job job = one_bucket_per_tensor();
  job.strategy.compression = DType::bf16;
  const Step s = step(m, line_link(0, 1e12), job);
  EXPECT_NEAR(term(s, Term::compression), 3 * 1.6, 1e-9);
}

TEST(CompressedSteps, of_python_on_a_gpu_cast_back_between_all_reduces) {
  // 500,000 parameters a bucket. Memory moves 3 MB/s in the kernel that casts back, 0.44 of a
  // copy's rate: 1 s for 6 B each. Before it a copy into the bucket (4 MB) and a cast (5 MB) take
  // 1.32 s: buckets are ready at 6.32, 9.64 and 11.96 s, back a second later, and the copies out
  // of 0.5867 s end at 11.96 + 3 x 0.5867.
  Machine m = three_layer_machine();
  m.device.multiprocessors = 100;
  m.copy_bandwidth.value = BytesPerSecond(3e6 / 0.44);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  Job job = one_bucket_per_tensor();
  job.strategy.compression = DType::fp16;
  const Step s = step(m, line_link(0, 1e12), job);
  EXPECT_NEAR(total(s), 13.72, 1e-5);
  EXPECT_NEAR(term(s, Term::compression), 3 * 5 * 0.44 / 3, 1e-9);
  // The native engine's cast comes at the end, on the stream that computes.
  job.engine = Engine::native;
  EXPECT_NEAR(term(step(m, line_link(0, 1e12), job), Term::compression), 3 * (5 + 3) * 0.44 / 3,
              1e-9);
}

TEST(FsdpSteps, of_one_unit_overlap_nothing) {
  // Gather 6, forward 3, backward 5, four passes over 6 MB at 8 MB/s 3, scatter 6, half of a 1 s
  // optimizer.
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.optimizer_bandwidth.value = BytesPerSecond(18e6);
  Job job = one_bucket_per_tensor();
  job.strategy = parse_strategy("fsdp=unit");
  const Step s = step(m, line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 23.5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 12);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 3);
  EXPECT_DOUBLE_EQ(term(s, Term::optimizer), 0.5);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 12);
}

TEST(FsdpSteps, share_every_micro_batch) {
  Job job = one_bucket_per_tensor();
  job.strategy = parse_strategy("fsdp=unit,accumulate=3");
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);
  EXPECT_NEAR(total(s), 3 * (8 + 12), 1e-9);
}

TEST(Optimizers, move_12_or_28_bytes_per_parameter) {
  Machine m = three_layer_machine();
  m.optimizer_bandwidth.value = BytesPerSecond(6e6);
  Job job = one_bucket_per_tensor(1);
  EXPECT_DOUBLE_EQ(term(step(m, Link{}, job), Term::optimizer), 3);
  job.optimizer = Optimizer::adamw;
  EXPECT_DOUBLE_EQ(term(step(m, Link{}, job), Term::optimizer), 7);
}

TEST(Optimizers, have_a_bandwidth_of_their_own_where_it_was_measured) {
  Machine m = three_layer_machine();
  m.optimizer_bandwidth.value = BytesPerSecond(6e6);
  m.adamw_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(3e6), 0.0, ""};
  Job job = one_bucket_per_tensor(1);
  EXPECT_DOUBLE_EQ(term(step(m, Link{}, job), Term::optimizer), 3);
  job.optimizer = Optimizer::adamw;
  EXPECT_DOUBLE_EQ(term(step(m, Link{}, job), Term::optimizer), 14);
}

TEST(Autocast, casts_weights_forward_their_gradients_backward_and_the_samples) {
  // 500,000 parameters a layer and inputs a sample: at 3 MB/s a second for each layer's weights and
  // for its gradients, and one for the sample.
  Machine m = three_layer_machine();
  for (ProductPoint& point : m.products) point.product.dtype = DType::bf16;
  m.copy_bandwidth.value = BytesPerSecond(3e6);
  Job job = one_bucket_per_tensor(1);
  job.dtype = DType::bf16;
  const Step s = step(m, Link{}, job);
  EXPECT_NEAR(term(s, Term::forward), 3 + 3 + 1, 1e-12);
  EXPECT_NEAR(term(s, Term::backward), 5 + 3, 1e-12);
  // On a GPU PyTorch's cast to 32 bits has 0.44 of a copy's rate, the native engine's all of it.
  m.device.multiprocessors = 132;
  EXPECT_NEAR(term(step(m, Link{}, job), Term::forward), 3 + 3 + 1, 1e-12);
  EXPECT_NEAR(term(step(m, Link{}, job), Term::backward), 5 + 3 / 0.44, 1e-12);
  job.engine = Engine::native;
  EXPECT_NEAR(term(step(m, Link{}, job), Term::backward), 5 + 3, 1e-12);
}

TEST(Ranks, wait_for_the_slowest_by_the_expected_maximum_of_their_spread) {
  Machine m = three_layer_machine();
  m.rank_spread = 0.1;
  const Step s = step(m, line_link(0, 1e6), one_bucket_per_tensor());
  EXPECT_NEAR(term(s, Term::imbalance), 0.1 * 0.5642 * 8, 1e-4);
  EXPECT_NEAR(total(s), 11 + 0.1 * 0.5642 * 8, 1e-4);
  EXPECT_EQ(term(step(m, Link{}, one_bucket_per_tensor(1)), Term::imbalance), 0);
}

TEST(SustainedClocks, slow_products_and_nothing_else) {
  Machine m = three_layer_machine();
  m.optimizer_bandwidth.value = BytesPerSecond(18e6);
  m.sustained = Estimate<double>{1.25, 0, ""};
  Job silent = one_bucket_per_tensor();
  silent.strategy = parse_strategy("no-sync");
  EXPECT_DOUBLE_EQ(total(step(m, Link{}, silent)), 8 * 1.25 + 1);
  EXPECT_DOUBLE_EQ(total(step(m, Link{}, one_bucket_per_tensor(1))), 8 + 1)
      << "what speedup is against is timed in a short run";
}

}  // namespace
}  // namespace ddpx
