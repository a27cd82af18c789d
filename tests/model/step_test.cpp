// Steps small enough to work out on paper: products of one second, collectives of two.
#include "model/step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/scaled_link.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/paper_step.hpp"
#include "tests/support/resnet18.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;
using test::line_link;
using test::machine_for;
using test::one_bucket_per_tensor;
using test::plain_layers;
using test::step;
using test::term;
using test::three_layers;
using test::total;

Machine machine() { return test::three_layer_machine(); }

TEST(DdpSteps, overlap_each_buckets_all_reduce_with_the_rest_of_backward) {
  // Backward of layer 3 ends at 5, its 2 s all-reduce at 7; layer 2: ready 7, done 9; layer 1:
  // ready 8, waits for the queue, done 11.
  const Step s = step(machine(), line_link(0, 1e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 11);
  EXPECT_DOUBLE_EQ(term(s, Term::forward), 3);
  EXPECT_DOUBLE_EQ(term(s, Term::backward), 5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 3);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 6);
  EXPECT_DOUBLE_EQ(s.communication_share(), 3.0 / 11);
  EXPECT_DOUBLE_EQ(s.communication_busy_share(), 6.0 / 11);
}

TEST(DdpSteps, expose_only_the_last_bucket_when_the_link_keeps_up) {
  const Step s = step(machine(), line_link(0, 4e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 8.5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 0.5);
}

TEST(DdpSteps, with_one_bucket_hide_nothing) {
  Job job = one_bucket_per_tensor();
  job.strategy.buckets = BucketLimits::explicit_cap(kGiB);
  const Machine m = machine();
  const Link link = line_link(0, 1e6);
  const Network network = three_layers();
  const StepModel model(m, link, network, job);
  ASSERT_EQ(model.buckets().size(), 1U);
}

TEST(DdpSteps, of_one_bucket_take_compute_plus_communication) {
  Job job = one_bucket_per_tensor();
  job.strategy.buckets = BucketLimits::explicit_cap(kGiB);
  EXPECT_DOUBLE_EQ(total(step(machine(), line_link(0, 1e6), job)), 8 + 6);
}

TEST(DdpSteps, on_one_gpu_and_without_sync_share_nothing) {
  EXPECT_DOUBLE_EQ(total(step(machine(), line_link(0, 1e6), one_bucket_per_tensor(1))), 8);
  Job job = one_bucket_per_tensor();
  job.strategy.sync = false;
  const Step s = step(machine(), line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 8);
  EXPECT_EQ(s.communication_busy, Seconds{});
}

TEST(DdpSteps, need_no_link_on_one_gpu) {
  EXPECT_DOUBLE_EQ(total(step(machine(), Link{}, one_bucket_per_tensor(1))), 8);
}

TEST(DdpSteps, copy_gradients_in_during_backward_and_out_after_each_buckets_wait) {
  // 4 MB of traffic per gradient at 8 MB/s: 0.5 s. Buckets start at 5.5, 8 and 10; backward ends
  // at 9.5; copies out end at 10, 10.5 and, after waiting for 12, at 12.5.
  Machine m = machine();
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  const Step s = step(m, line_link(0, 1e6), one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 12.5);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 3);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 1.5);
}

TEST(DdpSteps, with_bucket_view_copy_nothing_out) {
  Machine m = machine();
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  Job job = one_bucket_per_tensor();
  job.strategy.bucket_view = true;
  const Step s = step(m, line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 12);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 1.5);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 2.5);
}

TEST(DdpSteps, let_copies_and_collectives_slow_each_other) {
  // Two layers, the collective takes half the memory from a copy (and the copy delays it by what it
  // loses): copy in 4-4.5, all-reduce from 4.5; second copy 5.5-6.5, the all-reduce ends at 7 and
  // not 6.5; the next runs to 9, delayed to 9.5 by the first copy out (7-8); the last copy ends
  // at 10.
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{2.0, 0.0, ""};
  const Step s = step(m, line_link(0, 1e6), one_bucket_per_tensor(), network);
  EXPECT_DOUBLE_EQ(total(s), 10);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 2);
  EXPECT_DOUBLE_EQ(term(s, Term::contention), 1);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 2);
}

TEST(DdpSteps, let_copies_and_collectives_slow_each_other_as_measured_on_their_link) {
  // As above, where both were measured to take twice as long, with a message of the same rate.
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  Link link = line_link(0, 1e6);
  link.beside_copies = BesideCopies{{2.0, 0, ""}, {2.0, 0, ""}, BytesPerSecond(1e6)};
  EXPECT_DOUBLE_EQ(total(step(m, link, one_bucket_per_tensor(), network)), 10);
  // Measured at twice the rate, of which copies left half: all that this one asks for. It loses
  // nothing and takes of copies what was taken there. The second copy in 5.5-6.5, all-reduces
  // 4.5-6.5 and to 8.5, copies out 6.5-7.5 and 8.5-9.
  link.beside_copies->rate = BytesPerSecond(2e6);
  const Step s = step(m, link, one_bucket_per_tensor(), network);
  EXPECT_DOUBLE_EQ(total(s), 9);
  EXPECT_DOUBLE_EQ(term(s, Term::contention), 1);
}

TEST(DdpSteps, over_the_same_link_with_other_bandwidth_are_left_as_much_of_the_memory_by_copies) {
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  Link link = line_link(0, 1e6);
  link.beside_copies = BesideCopies{{2.0, 0, ""}, {2.0, 0, ""}, BytesPerSecond(1e6)};
  const auto with = [&](double factor) {
    return step(m, with_bandwidth(link, factor), one_bucket_per_tensor(), network);
  };
  // Twice the bandwidth: all-reduces of a second from 4.5 and, after the second copy in (5.5-6),
  // from 6. Beside the first copy out (6-7) that one still moves 0.5 MB/s, and the rest of its 2 MB
  // after it: to 7.75. The last copy ends at 8.25.
  EXPECT_DOUBLE_EQ(total(with(2)), 8.25);
  EXPECT_DOUBLE_EQ(term(with(2), Term::contention), 0.5);
  // Half of it: copies leave it all that it asks for. All-reduces 4.5-8.5 and to 12.5.
  EXPECT_DOUBLE_EQ(total(with(0.5)), 13);
  EXPECT_DOUBLE_EQ(term(with(0.5), Term::contention), 1);
  // A quarter: it takes a quarter of the memory, copies a third longer. All-reduces 4.5-12.5-20.5.
  EXPECT_DOUBLE_EQ(total(with(0.25)), 21);
  EXPECT_NEAR(term(with(0.25), Term::contention), 1.0 / 3, 1e-12);
}

TEST(DdpSteps, accumulate_locally_and_share_only_the_last_micro_batch) {
  Job job = one_bucket_per_tensor();
  job.strategy.micro_batches = 4;
  const Step s = step(machine(), line_link(0, 1e6), job);
  EXPECT_DOUBLE_EQ(total(s), 3 * 8 + 11);
  EXPECT_DOUBLE_EQ(term(s, Term::accumulation), 24);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 3);
}

TEST(DdpSteps, add_each_earlier_gradient_for_12_bytes_per_parameter) {
  Machine m = machine();
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
  Machine m = machine();
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

TEST(DdpSteps, slow_kernels_by_their_waves_beside_a_collective) {
  // 10 blocks on 10 multiprocessors, 2 of them the collective's: 2 waves instead of 1. All-reduces
  // 5-7, 8-10 and 10-12. Layer 2's data gradient runs 5-7 (8 blocks, then 2 more at 6); its weight
  // gradient alone 7-8; layer 1's 8-10.
  Machine m = machine();
  m.device.multiprocessors = 10;
  for (ProductPoint& p : m.products) p.grid = KernelGrid{10, 1, false};
  Link link = line_link(0, 1e6);
  link.channels = 2;
  const Step s = step(m, link, one_bucket_per_tensor());
  constexpr double kStarts = 2.1e-6;  // which a second wave does not take again
  EXPECT_NEAR(total(s), 12, kStarts);
  EXPECT_DOUBLE_EQ(term(s, Term::backward), 5);
  EXPECT_NEAR(term(s, Term::contention), 2, kStarts);
  EXPECT_NEAR(term(s, Term::exposed_communication), 2, kStarts);
}

TEST(DdpSteps, take_the_strategys_channels_over_the_links) {
  Machine m = machine();
  m.device.multiprocessors = 10;
  for (ProductPoint& p : m.products) p.grid = KernelGrid{8, 1, false};
  Link link = line_link(0, 1e6);
  link.channels = 4;
  Job job = one_bucket_per_tensor();
  EXPECT_GT(term(step(m, link, job), Term::contention), 0);
  job.strategy.channels = 2;  // 8 blocks fit beside two channels
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::contention), 0);
}

TEST(DdpSteps, slow_work_of_unknown_grid_by_the_multiprocessors_lost) {
  // 10 / 8 = 1.25: layer 2's data gradient 5-6.25, its weight gradient 0.6 of it beside, 1.15 s in
  // all; layer 1 from 7.4 to 8.65, its all-reduce 9.4-11.4.
  Machine m = machine();
  m.device.multiprocessors = 10;
  Link link = line_link(0, 1e6);
  link.channels = 2;
  const Step s = step(m, link, one_bucket_per_tensor());
  EXPECT_NEAR(total(s), 11.4, 1e-12);
  EXPECT_NEAR(term(s, Term::contention), 0.65, 1e-12);
  EXPECT_NEAR(term(s, Term::exposed_communication), 2.75, 1e-12);
}

TEST(DdpSteps, slow_a_collective_while_products_run_and_not_after) {
  // 3 s instead of 2 beside compute: 5-8, then alone 8-10 and 10-12.
  Link link = line_link(0, 1e6);
  link.beside_compute = {1.5, 0, ""};
  const Step s = step(machine(), link, one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 12);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 7);
}

TEST(Bursts, save_each_collective_what_the_link_saved_up_while_it_was_idle) {
  Link link = line_link(0, 1e6);
  link.burst = {Seconds(0.5), 0, ""};
  // Bucket 1 starts at 5 on a rested link and ends at 6.5; bucket 2, ready at 7, finds half a
  // second saved up again and ends at 8.5; bucket 3 follows without a pause and ends at 10.5.
  EXPECT_DOUBLE_EQ(total(step(machine(), link, one_bucket_per_tensor())), 10.5);
  EXPECT_DOUBLE_EQ(total(step(machine(), line_link(0, 1e6), one_bucket_per_tensor())), 11);
  Job fsdp = one_bucket_per_tensor();
  fsdp.strategy = parse_strategy("fsdp=unit");
  // The all-gather follows the reduce-scatter of the step before; only the reduce-scatter is
  // rested.
  EXPECT_DOUBLE_EQ(
      total(step(machine(), line_link(0, 1e6), fsdp)) - total(step(machine(), link, fsdp)), 0.5);
}

TEST(Bursts, of_any_depth_save_no_more_than_the_pause_and_never_all_of_a_collective) {
  Link link = line_link(0, 1e6);
  link.burst = {Seconds(100), 0, ""};
  // The last 2 s all-reduce starts at 8 and takes a tenth.
  EXPECT_DOUBLE_EQ(total(step(machine(), link, one_bucket_per_tensor())), 8.2);
  Link slow = line_link(0, 1e5);  // 20 s each
  slow.burst = {Seconds(100), 0, ""};
  // 5 s saved up before the first; the others follow without a pause.
  EXPECT_DOUBLE_EQ(total(step(machine(), slow, one_bucket_per_tensor())), 5 + 60 - 5);
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
  EXPECT_EQ(step(machine(), line_link(0, 4e6), one_bucket_per_tensor()).bound_by(),
            BoundBy::compute);
  EXPECT_EQ(step(machine(), line_link(0, 1e5), one_bucket_per_tensor()).bound_by(),
            BoundBy::communication);
}

TEST(StepModels, fill_resnet18s_buckets) {
  const Network network = test::resnet18();
  const Machine m = machine();
  const Link link = line_link(1e-5, 1e10);
  const StepModel model(m, link, network, Job{});
  ASSERT_EQ(model.buckets().size(), 3U);
  EXPECT_EQ(model.buckets()[1].bytes, Bytes(28'852'224));
}

TEST(StepModels, refuse_what_they_cannot_price) {
  const Machine m = machine();
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
  const Machine m = machine();
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
