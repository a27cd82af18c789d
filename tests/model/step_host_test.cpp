// What a step waits for besides its device and its link: hosts, gaps between kernels, frameworks
// and coordinators. On the same steps of whole seconds as step_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "model/step.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::one_bucket_per_tensor;
using test::step;
using test::term;
using test::three_layer_machine;
using test::total;

TEST(Gaps, cost_each_kernel_but_products_which_have_theirs) {
  // One optimizer.
  Machine m = three_layer_machine();
  m.kernel_gap.value = Seconds(0.1);
  EXPECT_NEAR(total(step(m, Link{}, one_bucket_per_tensor(1))), 8 + 0.1, 1e-12);
}

TEST(Gaps, are_longer_between_all_kernels_of_a_step_with_collectives) {
  // Three products forward and five backward take 0.2 more each; three copies in and three out, and
  // the optimizer, 0.3 each.
  Machine m = three_layer_machine();
  m.kernel_gap.value = Seconds(0.1);
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.0, ""};
  Job job = one_bucket_per_tensor();
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), job)), 8 + 8 * 0.2 + 7 * 0.3, 1e-6);
  job.strategy = parse_strategy("no-sync");
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), job)), 8 + 0.1, 1e-12);
}

TEST(Gaps, are_longer_in_the_steps_of_the_engine_that_has_them_so) {
  Machine m = three_layer_machine();
  m.longer_gap[0] = Estimate<Seconds>{Seconds(0.5), 0.0, ""};
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.0, ""};
  Job job = one_bucket_per_tensor();
  job.engine = Engine::torch;
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), job)), 8 + 15 * 0.2, 1e-6);
  job.engine = Engine::native;
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), job)), 8 + 15 * 0.5, 1e-6);
}

TEST(Gaps, that_may_be_longer_still_widen_the_interval) {
  // Fifteen of 0.2 s, a tenth unsure; FSDP of one unit, beside whose collectives nothing runs, has
  // eight products, four copies and an optimizer.
  Machine m = three_layer_machine();
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.1, ""};
  const Link link = line_link(0, 1e15);
  const Network network = test::three_layers();
  for (const auto& [strategy, gaps] : {std::pair{"ddp", 15}, std::pair{"fsdp=unit", 13}}) {
    Job job = one_bucket_per_tensor();
    if (std::string_view(strategy) != "ddp") job.strategy = parse_strategy(strategy);
    const StepModel model(m, link, network, job);
    EXPECT_TRUE(model.depends_on(Source::contention));
    Shift shift;
    shift.z[static_cast<std::size_t>(Source::contention)] = 1;
    const double longer = (model.run(shift).total() - model.run().total()).value();
    EXPECT_NEAR(longer, gaps * 0.02, 1e-6) << strategy;
  }
}

TEST(Gaps, are_longer_by_what_the_scale_of_one_gpus_work_has_no_part_in) {
  // Half the work of 8 s and of the optimizer's gap; eight products and seven kernels 0.2 longer,
  // six copies with their gap of 0.1.
  Machine m = three_layer_machine();
  m.kernel_gap.value = Seconds(0.1);
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.0, ""};
  const WorkScale scale{0.25, nullptr};  // on several GPUs its root
  const Link link = line_link(0, 1e15);
  const Network network = test::three_layers();
  const StepModel model(m, ProductTable(m, DType::fp32), link, network, one_bucket_per_tensor(),
                        scale);
  EXPECT_NEAR(model.run().total().value(), 4 + 0.5 * 0.1 + 15 * 0.2 + 6 * 0.1, 1e-6);
}

TEST(Gaps, go_by_once_before_a_collective_over_a_link_whose_channels_are_not_known) {
  // Gaps of 0.5: backward's products and copies in end at 5.5, 8 and 9.5, and each all-reduce of
  // 0.1 s begins a gap later. The last one, from 10 to 10.1, is waited for until 10.6.
  Machine m = three_layer_machine();
  m.device.multiprocessors = 10;
  m.kernel_gap.value = Seconds(0.5);
  Job job = one_bucket_per_tensor();
  job.strategy.bucket_view = true;
  const Step s = step(m, line_link(0, 20e6), job);
  EXPECT_NEAR(term(s, Term::exposed_communication), 0.5 + 0.1 + 0.5, 1e-6);
}

TEST(Gaps, lie_within_products_that_are_split) {
  // 64 x 64 outputs in tiles of 16 x 16: 16 blocks are one kernel, 64 four splits and their sum.
  Machine m = three_layer_machine();
  m.kernel_gap.value = Seconds(0.1);
  m.longer_gap[1] = Estimate<Seconds>{Seconds(0.2), 0.0, ""};
  const double whole = total(step(m, line_link(0, 1e15), one_bucket_per_tensor()));
  for (ProductPoint& p : m.products) p.grid = KernelGrid{64, 1, false, {16, 16}, 16};
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), one_bucket_per_tensor())) - whole, 8 * 0.2, 1e-6);
  for (ProductPoint& p : m.products) p.grid->blocks = 16;
  EXPECT_NEAR(total(step(m, line_link(0, 1e15), one_bucket_per_tensor())), whole, 1e-6);
}

TEST(Hosts, bound_a_step_that_the_device_does_not) {
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor.value = Seconds(4);
  host.extra_micro_batch.value = Seconds(2);
  host.sync_per_tensor.value = Seconds(1);
  host.per_bucket.value = Seconds(1);
  host.hook_per_bucket.value = Seconds(3);
  host.fsdp.value = Seconds(20);
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  Job job = one_bucket_per_tensor(1);
  const Step one = step(m, Link{}, job);
  EXPECT_DOUBLE_EQ(total(one), 12);  // 3 tensors x 4 s
  EXPECT_DOUBLE_EQ(term(one, Term::host), 4);
  EXPECT_EQ(one.bound_by(), BoundBy::host);

  job.gpus = 2;
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 12 + 3 + 3);
  job.strategy.compression = DType::fp16;
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 12 + 3 + 3 + 9);
  job.strategy.compression.reset();
  job.strategy.micro_batches = 3;
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 3 * 12 + 2 * 2 + 6);
  job.strategy = parse_strategy("fsdp");
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 12 + 20);
  job.strategy = parse_strategy("no-sync");
  EXPECT_DOUBLE_EQ(total(step(m, line_link(0, 1e6), job)), 12);

  job.engine = Engine::native;  // whose host costs are not known: never host-bound
  EXPECT_EQ(term(step(m, line_link(0, 1e6), job), Term::host), 0);
}

TEST(Hosts, pay_once_for_what_does_not_grow_and_by_block_for_each_collective_and_tensor) {
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor.value = Seconds(4);
  host.sync_per_tensor.value = Seconds(1);
  host.per_bucket.value = Seconds(1);
  host.fsdp.value = Seconds(20);
  host.step = Estimate<Seconds>{Seconds(10), 0, ""};
  host.sync = Estimate<Seconds>{Seconds(5), 0, ""};
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  const Link link = line_link(0, 1e6);
  Job job = one_bucket_per_tensor(2);
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 10 + 12 + 5 + 3 + 3);
  job.strategy.micro_batches = 2;
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 2 * (10 + 12) + 5 + 3 + 3);
  job.strategy.micro_batches = 1;
  job.strategy.compression = DType::fp16;
  m.host[static_cast<std::size_t>(Engine::torch)]->hook = Estimate<Seconds>{Seconds(7), 0, ""};
  m.host[static_cast<std::size_t>(Engine::torch)]->hook_per_bucket.value = Seconds(2);
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 10 + 12 + 5 + 3 + 3 + 7 + 2 * 3);
  // Three blocks: two gathers and a scatter each, of which two are in the first cost; three
  // tensors.
  job.strategy = parse_strategy("fsdp=block");
  Network blocks = test::three_layers();
  for (std::size_t i = 0; i < blocks.layers.size(); ++i)
    blocks.layers[i].block = static_cast<int>(i);
  auto& costs = *m.host[static_cast<std::size_t>(Engine::torch)];
  EXPECT_DOUBLE_EQ(total(step(m, link, job, blocks)), 10 + 12 + 20 + 7);
  costs.fsdp_block = Estimate<Seconds>{Seconds(30), 0, ""};
  EXPECT_DOUBLE_EQ(total(step(m, link, job, blocks)), 10 + 12 + 30 + 7);
  costs.fsdp_launch = Estimate<Seconds>{Seconds(2), 0, ""};
  EXPECT_DOUBLE_EQ(total(step(m, link, job, blocks)), 10 + 12 + 30 + 2 * 7);
  costs.fsdp_per_tensor = Estimate<Seconds>{Seconds(6), 0, ""};
  EXPECT_DOUBLE_EQ(total(step(m, link, job, blocks)), 10 + 12 + 30 + 2 * 7 + 6 * 3);
}

TEST(Hosts, take_longer_for_an_update_by_adamw_and_longer_still_for_one_of_shards) {
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor.value = Seconds(100);
  host.adamw_per_tensor = Estimate<Seconds>{Seconds(10), 0, ""};
  host.fsdp_adamw_per_tensor = Estimate<Seconds>{Seconds(40), 0, ""};
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  const Link link = line_link(0, 1e6);
  Job job = one_bucket_per_tensor(1);
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 3 * 100);
  job.optimizer = Optimizer::adamw;
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 3 * (100 + 10));
  // The update comes once in a step, whatever the number of micro-batches.
  job.strategy.micro_batches = 2;
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 3 * (2 * 100 + 10));
  job = one_bucket_per_tensor(2);
  job.optimizer = Optimizer::adamw;
  job.strategy = parse_strategy("fsdp=block");
  Network blocks = test::three_layers();
  for (std::size_t i = 0; i < blocks.layers.size(); ++i)
    blocks.layers[i].block = static_cast<int>(i);
  EXPECT_DOUBLE_EQ(total(step(m, link, job, blocks)), 3 * (100 + 10 + 40));
}

TEST(Hosts, take_longer_for_the_casts_of_16_bit_products_in_every_micro_batch) {
  Machine m = three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(1e12);
  for (std::size_t i = m.products.size(); i-- > 0;) {
    m.products.push_back(m.products[i]);
    m.products.back().product.dtype = DType::bf16;
  }
  HostCosts host;
  host.step_per_tensor.value = Seconds(100);
  host.autocast_per_tensor = Estimate<Seconds>{Seconds(50), 0, ""};
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  const Link link = line_link(0, 1e6);
  Job job = one_bucket_per_tensor(1);
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 3 * 100);
  job.dtype = DType::bf16;
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 3 * (100 + 50));
  job.strategy.micro_batches = 2;
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 2 * 3 * (100 + 50));
}

TEST(Hosts, have_the_error_of_their_parts_and_of_a_fresh_process) {
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor = {Seconds(100), 0.03, ""};  // 300 s, +- 9
  host.step = Estimate<Seconds>{Seconds(100), 0.12, ""};
  host.spread = 0.05;
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  const Link link;
  const Network& network = test::three_layers();
  const Job job = one_bucket_per_tensor(1);
  Shift shift;
  shift.z[static_cast<std::size_t>(Source::host)] = 1;
  // hypot(9, 12) of 400, and 5 %.
  EXPECT_NEAR(total(StepModel(m, link, network, job).run(shift)),
              400 * (1 + std::hypot(15.0 / 400, 0.05)), 1e-9);
}

TEST(Hosts, that_replay_a_graph_bound_nothing) {
  Machine m = three_layer_machine();
  m.host[static_cast<std::size_t>(Engine::native)].emplace().step_per_tensor.value = Seconds(4);
  Job job = one_bucket_per_tensor(1);
  job.engine = Engine::native;
  EXPECT_DOUBLE_EQ(total(step(m, Link{}, job)), 12);
  job.graphs = true;
  EXPECT_DOUBLE_EQ(total(step(m, Link{}, job)), 8);
}

TEST(Hosts, that_keep_up_cost_nothing) {
  Machine m = three_layer_machine();
  HostCosts host;
  host.step_per_tensor.value = Seconds(2.6);
  m.host[static_cast<std::size_t>(Engine::torch)] = host;
  EXPECT_DOUBLE_EQ(total(step(m, Link{}, one_bucket_per_tensor(1))), 8);
}

TEST(Frameworks, add_what_they_take_to_every_synchronised_backward) {
  Machine m = three_layer_machine();
  m.framework = FrameworkCost{{Seconds(2), 0.5, ""}, 1};
  Job job = one_bucket_per_tensor();
  const Link link = line_link(0, 1e6);
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::framework), 2);
  EXPECT_DOUBLE_EQ(total(step(m, link, job)), 11 + 2);
  // Of forward and backward, 8 s, at most a quarter.
  m.framework = FrameworkCost{{Seconds(20), 0, ""}, 0.25};
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::framework), 2);
  job.strategy = parse_strategy("accumulate=3,bucket=1KB");
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::framework), 2);
  job.strategy = parse_strategy("accumulate=3,bucket=1KB,sync=every");
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::framework), 6);
  job.strategy = parse_strategy("no-sync");
  EXPECT_EQ(term(step(m, link, job), Term::framework), 0);
  EXPECT_EQ(term(step(m, Link{}, one_bucket_per_tensor(1)), Term::framework), 0);
}

TEST(Frameworks, are_uncertain_as_the_host_is) {
  Machine m = three_layer_machine();
  m.framework = FrameworkCost{{Seconds(2), 0.5, ""}, 1};
  const Link link = line_link(0, 1e6);
  const Network network = test::three_layers();
  const StepModel model(m, link, network, one_bucket_per_tensor());
  ASSERT_TRUE(model.depends_on(Source::host));
  Shift shift;
  shift.z[static_cast<std::size_t>(Source::host)] = 1;
  EXPECT_DOUBLE_EQ(model.run(shift).total().value(), 11 + 3);
  m.framework.reset();
  EXPECT_FALSE(StepModel(m, link, network, one_bucket_per_tensor()).depends_on(Source::host));
}

TEST(Coordinators, take_a_bucket_up_half_a_cycle_late) {
  // Buckets of 2 s complete at 5, 7 and 8: 5-7, 7-9, 9-11; half a second later each the first is.
  Job job = one_bucket_per_tensor();
  const Link link = line_link(0, 1e6);
  ASSERT_DOUBLE_EQ(total(step(three_layer_machine(), link, job)), 11);
  job.strategy.cycle = Seconds(1);
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), link, job)), 11.5);
  // Behind backward all three wait for the same look.
  job.strategy.overlap = false;
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), link, job)), 8 + 6 + 0.5);
}

}  // namespace
}  // namespace ddpx
