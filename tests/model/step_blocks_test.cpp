// Steps sharded by block, by ZeRO stage and in groups, on steps of whole seconds: forward 3 x 1 s,
// backward 2, 2 and 1 s, 2 MB of parameters and of gradients per layer.
#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::term;
using test::three_blocks;
using test::total;

Job job_of(const char* strategy, int gpus = 2) {
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = 1;
  job.strategy = parse_strategy(strategy);
  return job;
}

Step step_of(const char* strategy, const Link& link, int gpus = 2) {
  return test::step(test::three_layer_machine(), link, job_of(strategy, gpus), three_blocks());
}

TEST(BlockSteps, gather_one_block_ahead_and_scatter_behind) {
  // Gathers 0-2, 2-4, 4-6 beside forwards 2-3, 4-5, 6-7; backwards 9-11, 11-13, 15-16 beside
  // gathers 7-9, 9-11, 13-15 and scatters 11-13, 15-17, 17-19.
  const Step s = step_of("fsdp=block", line_link(0, 1e6));
  EXPECT_DOUBLE_EQ(total(s), 19);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 11);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 18);
}

TEST(BlockSteps, without_resharding_gather_nothing_in_backward) {
  // Scatters 9-11, 11-13, 13-15 beside backwards 7-9, 9-11, 11-12.
  const Step s = step_of("fsdp=block,reshard=no", line_link(0, 1e6));
  EXPECT_DOUBLE_EQ(total(s), 15);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 12);
}

TEST(BlockSteps, hide_all_but_the_first_gather_and_the_last_scatter_on_a_fast_link) {
  const Step s = step_of("fsdp=block", line_link(0, 4e6));
  // First gather 0.5, the last block's second gather 0.5, last scatter 0.5.
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 1.5);
}

TEST(BlockSteps, share_every_micro_batch) {
  EXPECT_NEAR(total(step_of("fsdp=block,accumulate=3", line_link(0, 1e6))), 3 * 19, 1e-9);
  EXPECT_DOUBLE_EQ(total(step_of("zero=3", line_link(0, 1e6))), 19);
}

TEST(BlockSteps, of_a_root_gather_it_first_and_scatter_it_last) {
  Network network = three_blocks();
  network.layers[0].block.reset();
  const Step s = test::step(test::three_layer_machine(), line_link(0, 1e6),
                            job_of("fsdp=block,reshard=no"), network);
  // Root 0-2, blocks 2-4 and 4-6; forwards 2-3, 4-5, 6-7; backwards 7-9, 9-11, 11-12; scatters
  // 9-11, 11-13 and, after it, the root's 13-15.
  EXPECT_DOUBLE_EQ(total(s), 15);
}

TEST(BlockSteps, copy_parameters_out_of_the_gather_and_gradients_into_the_scatter) {
  Machine m = test::three_layer_machine();
  m.copy_bandwidth.value = BytesPerSecond(4e6);
  m.memory_beside = Estimate<double>{1.0, 0.0, ""};
  const Step s = test::step(m, line_link(0, 1e12), job_of("fsdp=block"), three_blocks());
  EXPECT_NEAR(term(s, Term::copies), 9, 1e-9);  // 4 MB of traffic, 3 times for each of 3 blocks
}

TEST(BlockSteps, need_blocks) {
  test::expect_input_error(
      [] {
        static_cast<void>(test::step(test::three_layer_machine(), line_link(0, 1e6),
                                     job_of("fsdp=block"), test::three_layers()));
      },
      {"--strategy", "no blocks", "fsdp=unit"});
}

TEST(HybridSteps, all_reduce_shards_between_nodes_behind_their_scatters) {
  Link link = line_link(0, 1e6, 4);
  link.levels = {line_link(0, 1e6, 2), line_link(0, 1e6, 2)};
  // As without replicas, and 1 MB from each scatter's end on: 11-12, 13-14, 15-16.
  const Step s = step_of("hsdp=2x2,reshard=no", link, 4);
  EXPECT_DOUBLE_EQ(total(s), 16);
  test::expect_input_error([] { static_cast<void>(step_of("hsdp=2x2", line_link(0, 1e6, 4), 4)); },
                           {"--strategy", "--gpus 2x2", "--inter-link"});
}

TEST(ZeroSteps, of_stage_1_are_ddp_and_an_all_gather_of_the_updated_parameters) {
  const double ddp = total(step_of("ddp,bucket=0.001KB", line_link(0, 1e6)));
  const Step s = step_of("zero=1,bucket=0.001KB", line_link(0, 1e6));
  EXPECT_DOUBLE_EQ(ddp, 11);
  EXPECT_DOUBLE_EQ(total(s), 11 + 6);
}

TEST(ZeroSteps, of_stage_2_reduce_in_large_buckets_without_overlap) {
  EXPECT_DOUBLE_EQ(total(step_of("zero=2", line_link(0, 1e6))), 8 + 6 + 6);
  EXPECT_NEAR(total(step_of("zero=2,accumulate=3", line_link(0, 1e6))), 3 * (8 + 6) + 6, 1e-9);
}

TEST(ZeroSteps, update_only_their_share) {
  Machine m = test::three_layer_machine();
  m.optimizer_bandwidth.value = BytesPerSecond(18e6);  // 1 s for all
  for (const char* strategy : {"zero=1", "zero=2", "zero=3", "fsdp=block", "fsdp=unit"}) {
    const Step s = test::step(m, line_link(0, 1e6), job_of(strategy), three_blocks());
    EXPECT_DOUBLE_EQ(term(s, Term::optimizer), 0.5) << strategy;
  }
}

TEST(DdpSteps, without_overlap_are_compute_and_then_communication) {
  EXPECT_DOUBLE_EQ(total(step_of("ddp,overlap=no", line_link(0, 1e6))), 8 + 6);
  EXPECT_LT(total(step_of("ddp", line_link(0, 1e6))), 8 + 6);
}

TEST(DdpSteps, that_share_every_micro_batch_communicate_k_times_as_much) {
  const Step last = step_of("ddp,bucket=0.001KB,accumulate=3", line_link(0, 1e6));
  const Step every = step_of("ddp,bucket=0.001KB,accumulate=3,sync=every", line_link(0, 1e6));
  EXPECT_NEAR(total(last), 8 + 8 + 11, 1e-9);
  EXPECT_NEAR(total(every), 3 * 11, 1e-9);
  EXPECT_NEAR(every.communication_busy / last.communication_busy, 3, 1e-12);
}

TEST(DdpSteps, on_an_8_MB_model_have_two_buckets) {
  const Network network = mlp({.width = 512, .depth = 8});
  const Machine machine = test::machine_for(network, 1);
  const Link link = line_link(0, 1e9);
  const StepModel model(machine, link, network, job_of("ddp"));
  EXPECT_EQ(model.buckets().size(), 2U);
}

// A queue that looked at every collective since the step's beginning took 50 times as long.
// A wait that looks at every collective since the step's beginning takes minutes here.
TEST(BlockSteps, of_very_many_blocks_are_walked) {
  constexpr int kBlocks = 20000;
  Network network = test::plain_layers(kBlocks, 2e6);
  for (int i = 0; i < kBlocks; ++i) network.layers[static_cast<std::size_t>(i)].block = i;
  const Machine machine = test::machine_for(network, 1);
  const Link link = line_link(0, 1e9);
  EXPECT_GT(StepModel(machine, link, network, job_of("fsdp=block")).run().total().value(), 0);
}

}  // namespace
}  // namespace ddpx
