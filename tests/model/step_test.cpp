// Steps small enough to work out on paper: products of one second, collectives of two.
#include "model/step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"
#include "tests/support/paper_step.hpp"
#include "tests/support/resnet18.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;
using test::line_link;
using test::machine_for;
using test::one_bucket_per_tensor;
using test::step;
using test::term;
using test::three_layer_machine;
using test::three_layers;
using test::total;

TEST(DdpSteps, overlap_each_buckets_all_reduce_with_the_rest_of_backward) {
  // Backward of layer 3 ends at 5, its 2 s all-reduce at 7; layer 2: ready 7, done 9; layer 1:
  // ready 8, waits for the queue, done 11.
  const Step s = step(three_layer_machine(), line_link(0, 1e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 11);
  EXPECT_DOUBLE_EQ(term(s, Term::forward), 3);
  EXPECT_DOUBLE_EQ(term(s, Term::backward), 5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 3);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 6);
  EXPECT_DOUBLE_EQ(s.communication_share(), 3.0 / 11);
  EXPECT_DOUBLE_EQ(s.communication_busy_share(), 6.0 / 11);
}

TEST(DdpSteps, expose_only_the_last_bucket_when_the_link_keeps_up) {
  const Step s = step(three_layer_machine(), line_link(0, 4e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 8.5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 0.5);
}

TEST(DdpSteps, with_one_bucket_hide_nothing) {
  Job job = one_bucket_per_tensor();
  job.strategy.buckets = BucketLimits::explicit_cap(kGiB);
  const Machine m = three_layer_machine();
  const Link link = line_link(0, 1e6);
  const Network network = three_layers();
  const StepModel model(m, link, network, job);
  ASSERT_EQ(model.buckets().size(), 1U);
}

TEST(DdpSteps, of_one_bucket_take_compute_plus_communication) {
  Job job = one_bucket_per_tensor();
  job.strategy.buckets = BucketLimits::explicit_cap(kGiB);
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), line_link(0, 1e6), job)), 8 + 6);
}

TEST(DdpSteps, on_one_gpu_and_without_sync_share_nothing) {
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), line_link(0, 1e6), one_bucket_per_tensor(1))),
                   8);
  Job job = one_bucket_per_tensor();
  job.strategy.sync = false;
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 8);
  EXPECT_EQ(s.communication_busy, Seconds{});
}

TEST(DdpSteps, need_no_link_on_one_gpu) {
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), Link{}, one_bucket_per_tensor(1))), 8);
}

TEST(DdpSteps, copy_gradients_in_during_backward_and_out_after_each_buckets_wait) {
  // 4 MB of traffic per gradient at 8 MB/s: 0.5 s. Buckets start at 5.5, 8 and 10; backward ends
  // at 9.5; copies out end at 10, 10.5 and, after waiting for 12, at 12.5.
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  const Step s = step(m, line_link(0, 1e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 12.5);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 3);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 1.5);
}

TEST(DdpSteps, with_bucket_view_copy_nothing_out) {
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  Job job = one_bucket_per_tensor();
  job.strategy.bucket_view = true;
  const Step s = step(m, line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 12);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 1.5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 2.5);
}

TEST(DdpSteps, accumulate_locally_and_share_only_the_last_micro_batch) {
  Job job = one_bucket_per_tensor();
  job.strategy.micro_batches = 4;
  const Step s = step(three_layer_machine(), line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 3 * 8 + 11);
  EXPECT_DOUBLE_EQ(term(s, Term::accumulation), 24);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 3);
}

TEST(DdpSteps, add_each_earlier_gradient_for_12_bytes_per_parameter) {
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(18e6);  // 12 B x 1.5 M parameters: 1 s
  Job job = one_bucket_per_tensor(1);
  job.strategy.micro_batches = 3;
  EXPECT_NEAR(total(step(m, Link{}, job)), 3 * 8 + 2, 1e-9);
}

TEST(DdpSteps, price_what_lies_between_products_by_its_own_kernels_in_the_native_engine_alone) {
  Network network = three_layers();
  for (Layer& layer : network.layers) {
    layer.forward_bytes = 2e6;
    layer.backward_bytes = 4e6;
  }
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(1e9);
  Job job = one_bucket_per_tensor(1);
  job.engine = Engine::native;
  const Step as_copies = step(m, Link{}, job, network);
  m.forward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(0.5e9), 0, ""};
  m.backward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(0.25e9), 0, ""};
  const Step native = step(m, Link{}, job, network);
  // Per layer and sample 2 MB at 0.5 instead of 1 GB/s, and 4 MB at 0.25.
  const double samples = 3 * job.batch_per_rank;
  EXPECT_NEAR(term(native, Term::forward) - term(as_copies, Term::forward), 2e-3 * samples, 1e-9);
  EXPECT_NEAR(term(native, Term::backward) - term(as_copies, Term::backward), 12e-3 * samples,
              1e-9);
  job.engine = Engine::torch;
  EXPECT_DOUBLE_EQ(term(step(m, Link{}, job, network), Term::forward),
                   term(as_copies, Term::forward));
}

TEST(StrongScaling, computes_a_share_of_the_batch_measured_at_that_size) {
  Machine m = machine_for(three_layers(), 64);  // 1 s each at 64 rows
  const Machine half = machine_for(three_layers(), 32, {0.7, 0.7, 0.7});
  m.products.insert(m.products.end(), half.products.begin(), half.products.end());
  Job job = one_bucket_per_tensor();
  job.batch_per_rank = 64;
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e9), job)), 8.002);
  job.scaling = Scaling::strong;
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e9), job)), 8 * 0.7 + 0.002);
}

TEST(Bounds, name_what_a_step_waits_for) {
  EXPECT_EQ(step(three_layer_machine(), line_link(0, 4e6), one_bucket_per_tensor()).bound_by(),
            BoundBy::compute);
  EXPECT_EQ(step(three_layer_machine(), line_link(0, 1e5), one_bucket_per_tensor()).bound_by(),
            BoundBy::communication);
}

TEST(StepModels, fill_resnet18s_buckets) {
  const Network network = test::resnet18();
  const Machine m = three_layer_machine();
  const Link link = line_link(1e-5, 1e10);
  const StepModel model(m, link, network, Job{});
  ASSERT_EQ(model.buckets().size(), 3U);
  EXPECT_EQ(model.buckets()[1].bytes, Bytes(28'852'224));
}

TEST(StepModels, refuse_what_they_cannot_price) {
  const Machine m = three_layer_machine();
  const Link link;
  const Network network = three_layers();
  const Network empty;
  Job job = one_bucket_per_tensor();
  expect_input_error([&] { StepModel(m, link, empty, job); }, {"no layers"});
  expect_input_error([&] { StepModel(m, link, network, job); }, {"no curve"});
  job.dtype = DType::bf16;
  expect_input_error([&] { StepModel(m, link, network, job); }, {"bf16", "fp32"});
  job.dtype = DType::fp32;
  job.gpus = 0;
  expect_input_error([&] { StepModel(m, link, network, job); }, {"--gpus"});
}

TEST(StepModels, say_when_a_shape_or_a_count_was_not_measured) {
  const Machine m = three_layer_machine();
  const Link link = line_link(0, 1e6);
  const Network network = three_layers();
  EXPECT_FALSE(StepModel(m, link, network, one_bucket_per_tensor()).extrapolated());
  EXPECT_TRUE(StepModel(m, link, network, one_bucket_per_tensor(4)).extrapolated());
  Job far = one_bucket_per_tensor();
  far.batch_per_rank = 1024;
  EXPECT_TRUE(StepModel(m, link, network, far).extrapolated());
}

TEST(ExpectedMaximum, of_normal_values_has_its_tabulated_values) {
  // Order statistics of the normal distribution (Harter 1961).
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_EQ(expected_maximum(0), 0);
  for (const auto& [n, value] : {std::pair{2, 0.5642},
                                 {3, 0.8463},
                                 {4, 1.0294},
                                 {5, 1.1630},
                                 {8, 1.4236},
                                 {10, 1.5388},
                                 {100, 2.5076}}) {
    EXPECT_NEAR(expected_maximum(n), value, 0.015 * value) << n;
  }
  EXPECT_NEAR(expected_maximum(1000), 3.2414, 0.02);
  EXPECT_GT(expected_maximum(2'000'000'000), expected_maximum(65536));
}

TEST(Names, of_terms_and_sources_are_the_documented_ones) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTerms; ++i) names.push_back(name(static_cast<Term>(i)));
  EXPECT_THAT(names, testing::ElementsAre("forward", "backward", "accumulation", "contention",
                                          "copies", "compression", "exposed_communication",
                                          "optimizer", "framework", "host", "imbalance", "loader"));
  EXPECT_EQ(name(Source::link), "link");
  EXPECT_EQ(name(BoundBy::communication), "communication");
}

}  // namespace
}  // namespace ddpx
