// Captured networks bring their own times: layers of one second, kernels of known grids.
#include <gtest/gtest.h>

#include "model/step.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::machine_for;
using test::one_bucket_per_tensor;
using test::plain_layers;

// Three layers of 1 s forward and 2 s backward for a batch of 4, a gradient of 2 MB each, and an
// optimizer of half a second.
Network captured_network() {
  Network network = plain_layers(3, 2e6);
  network.name = "captured";
  for (Layer& layer : network.layers) {
    layer.products.clear();
    layer.forward_seconds_per_sample = 0.25;
    layer.backward_seconds_per_sample = 0.5;
  }
  network.captured = Captured{.batch = 4, .optimizer_time = Seconds(0.5)};
  return network;
}

// Memory and optimizer cost nothing, and no product was measured.
Machine bare_machine() {
  Machine machine = machine_for(plain_layers(3, 2e6), 1);
  machine.products.clear();
  return machine;
}

Job job_of(int gpus) {
  Job job = one_bucket_per_tensor(gpus);
  job.batch_per_rank = 4;
  return job;
}

double total(const Network& network, const Job& job, const Machine& machine = bare_machine(),
             const Link& link = line_link(0, 1e6)) {
  return StepModel(machine, link, network, job).run().total().value();
}

TEST(CapturedSteps, alone_take_what_was_measured_on_a_machine_without_products) {
  EXPECT_DOUBLE_EQ(total(captured_network(), job_of(1)), 3 * (1 + 2) + 0.5);
}

TEST(CapturedSteps, share_their_gradients_while_backward_goes_on) {
  // All-reduces of 2 s each are ready at 5, 7 and 9 s; the last one ends at 11, the optimizer at
  // 11.5.
  EXPECT_DOUBLE_EQ(total(captured_network(), job_of(2)), 11.5);
}

TEST(CapturedSteps, with_a_python_hook_begin_every_kernel_later) {
  // 90 kernels in 9 s, 10 ms later each: forwards of 1.1 s, backwards of 2.2. With a copy and two
  // casts of a kernel each, buckets are ready at 5.53, 7.76 and 9.99 s. Their halves take 1 s and
  // 10 ms until the cast back; the last, begun at 10, is there at 11.01, 10 ms later at compute,
  // copied out at 11.03.
  Network network = captured_network();
  network.captured->kernels = 90;
  Machine machine = bare_machine();
  machine.device.multiprocessors = 100;
  machine.hook_gap = Estimate<Seconds>{Seconds(0.01), 0, ""};
  Job job = job_of(2);
  EXPECT_DOUBLE_EQ(total(network, job, machine), 11.5);
  job.strategy.compression = DType::fp16;
  EXPECT_NEAR(total(network, job, machine), 11.53, 1e-9);
  machine.hook_gap.reset();
  EXPECT_NEAR(total(network, job, machine), 10.5, 1e-9);
}

TEST(CapturedSteps, with_collectives_begin_every_kernel_later) {
  // 90 kernels in 9 s, 10 ms later each: forwards of 1.1 s, backwards of 2.2. Copies in end
  // at 5.51, 7.72 and 9.93 s, 10 ms later all-reduces of 2 s begin; the last, beside nothing, is
  // there at 11.94, 10 ms later at compute, copied out at 11.96.
  Network network = captured_network();
  network.captured->kernels = 90;
  Machine machine = bare_machine();
  machine.device.multiprocessors = 100;
  machine.longer_gap[1] = Estimate<Seconds>{Seconds(0.01), 0, ""};
  EXPECT_NEAR(total(network, job_of(2), machine), 11.96 + 0.5, 1e-9);
  Job alone = job_of(2);
  alone.strategy = parse_strategy("no-sync");
  EXPECT_NEAR(total(network, alone, machine), 9.5, 1e-9);
}

// 90 kernels, however many of them are known by their launches.
TEST(CapturedSteps, with_a_python_hook_begin_a_launch_later_once) {
  Machine machine = bare_machine();
  machine.device.multiprocessors = 100;
  machine.hook_gap = Estimate<Seconds>{Seconds(0.01), 0, ""};
  Job job = job_of(2);
  job.strategy.compression = DType::fp16;
  Network network = captured_network();
  network.captured->kernels = 90;
  const Link link = line_link(0, 1e15);
  const auto compute = [&] {
    const Step step = StepModel(machine, link, network, job).run();
    return (step.term(Term::forward) + step.term(Term::backward)).value();
  };
  EXPECT_NEAR(compute(), 9 + 0.9, 1e-9);
  for (Layer& layer : network.layers)
    layer.backward_launches.assign(10, KernelLaunch{.seconds_per_sample = 0.04, .blocks = 100});
  EXPECT_NEAR(compute(), 9 + 0.9, 1e-9);
  for (Layer& layer : network.layers)
    layer.forward_launches.assign(5, KernelLaunch{.seconds_per_sample = 0.04, .blocks = 100});
  EXPECT_NEAR(compute(), 9 + 0.9, 1e-9);
  // Captured where the host bounds: layers count their kernels, with the whole gap.
  network.captured->kernels = 0;
  for (Layer& layer : network.layers) {
    layer.forward_kernels = 10;
    layer.backward_kernels = 20;
  }
  EXPECT_NEAR(compute(), 9 + 3 * 30 * 0.01, 1e-9);
}

TEST(CapturedSteps, with_gradients_of_two_bytes_send_half) {
  Network network = captured_network();
  network.captured->gradient_element_bytes = 2;
  EXPECT_DOUBLE_EQ(total(network, job_of(2)), 10.5);
}

TEST(CapturedSteps, wait_for_their_buffers_before_forward) {
  Network network = captured_network();
  network.captured->broadcast_bytes = {1e6, 0.5e6};
  EXPECT_DOUBLE_EQ(total(network, job_of(2)), 11.5 + 1.5);
  EXPECT_DOUBLE_EQ(total(network, job_of(1)), 9.5);
}

TEST(CapturedSteps, are_bound_by_their_own_host_where_that_is_slower) {
  Network network = captured_network();
  network.captured->host_time = Seconds(20);
  network.captured->host_optimizer_time = Seconds(1);
  Job job = job_of(1);
  EXPECT_DOUBLE_EQ(total(network, job), 21);
  job.strategy.micro_batches = 3;
  EXPECT_DOUBLE_EQ(total(network, job), 61);
  Machine machine = bare_machine();
  HostCosts costs;
  costs.step_per_tensor.value = Seconds(100);  // of another network: not asked for
  costs.sync_per_tensor.value = Seconds(1);
  costs.per_bucket.value = Seconds(0.5);
  machine.host.at(static_cast<std::size_t>(Engine::torch)) = costs;
  EXPECT_DOUBLE_EQ(total(network, job_of(2), machine), 21 + 3 * 1.5);
}

TEST(CapturedSteps, take_longer_beside_a_collective_by_the_waves_of_their_kernels) {
  // 132 blocks, one on a multiprocessor: one wave alone, two where a collective holds some of them.
  Network network = captured_network();
  for (Layer& layer : network.layers) {
    layer.backward_launches = {{0.5, 132, 1024, 64, 0, false}};
  }
  Machine machine = bare_machine();
  machine.device.multiprocessors = 132;
  machine.device.compute_capability = 90;
  Link link = line_link(0, 1e5);  // the first all-reduce outlasts backward
  link.channels = 8;
  Job job = job_of(2);
  job.strategy.channels = 8;
  const Step step = StepModel(machine, link, network, job).run();
  EXPECT_DOUBLE_EQ(step.term(Term::backward).value(), 6);
  EXPECT_DOUBLE_EQ(step.term(Term::contention).value(), 4);  // layers 2 and 1 take twice as long
}

TEST(CapturedSteps, by_block_take_longer_in_forward_by_the_waves_beside_gathers) {
  Network network = captured_network();
  for (int i = 0; i < 3; ++i) network.layers[static_cast<std::size_t>(i)].block = i;
  Machine machine = bare_machine();
  machine.device.multiprocessors = 132;
  machine.device.compute_capability = 90;
  Link link = line_link(0, 1e5);  // a gather outlasts a forward
  link.channels = 8;
  Job job = job_of(2);
  job.strategy.channels = 8;
  job.strategy.sharding = Sharding::fsdp_block;
  const auto contention = [&](double blocks) {
    for (Layer& layer : network.layers)
      layer.forward_launches = {{0.125, blocks, 1024, 64, 0, false}};
    return StepModel(machine, link, network, job).run().term(Term::contention).value();
  };
  // The second and third block's gathers run beside the first and second one's forwards.
  EXPECT_NEAR(contention(132) - contention(66), 2 * 0.5, 1e-9);
}

TEST(CapturedSteps, at_another_batch_are_extrapolated_and_in_another_format_refused) {
  const Network network = captured_network();
  const Link link = line_link(0, 1e6);
  const Machine machine = bare_machine();
  Job job = job_of(1);
  EXPECT_FALSE(StepModel(machine, link, network, job).extrapolated());
  job.batch_per_rank = 8;
  EXPECT_TRUE(StepModel(machine, link, network, job).extrapolated());
  EXPECT_DOUBLE_EQ(total(network, job), 18.5);
  job.dtype = DType::bf16;
  test::expect_input_error([&] { (void)StepModel(machine, link, network, job); },
                           {"captured in fp32, not bf16", "--dtype fp32"});
}

}  // namespace
}  // namespace ddpx
