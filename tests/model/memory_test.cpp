#include "model/memory.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

TEST(Memory, one_gpu_keeps_parameters_gradients_and_activations) {
  const Network network = mlp({1024, 8, 64});
  Job job;
  job.gpus = 1;
  const double state = 2 * 4 * network.parameters();
  EXPECT_DOUBLE_EQ(memory_needed(network, job).value(), state + 256 * network.activation_bytes);
}

TEST(Memory, ddp_adds_buckets_unless_gradients_are_views_of_them) {
  const Network network = mlp({1024, 8, 64});
  Job job;
  const double without = memory_needed(network, job.one_gpu()).value();
  EXPECT_DOUBLE_EQ(memory_needed(network, job).value(), without + 4 * network.parameters());
  job.strategy.bucket_view = true;
  EXPECT_DOUBLE_EQ(memory_needed(network, job).value(), without);
}

TEST(Memory, adamw_keeps_two_moments_and_fsdp_shards_them) {
  const Network network = gpt({});
  Job job;
  job.gpus = 4;
  job.optimizer = Optimizer::adamw;
  job.strategy.sharding = Sharding::fsdp_unit;
  const double g = 4 * network.parameters();
  const double activations = job.batch_per_rank * network.activation_bytes;
  EXPECT_DOUBLE_EQ(memory_needed(network, job).value(), 2 * g + 4 * g / 4 + activations);
}

TEST(Memory, of_zero_stages_is_the_papers_table) {
  // Rajbhandari et al. 2020, table 1: GB of model state of 7.5 B parameters in mixed precision.
  const auto gigabytes = [](Sharding sharding, int ranks) {
    return model_state(kPaperMixedPrecision, 7.5e9, sharding, ranks).value() / 1e9;
  };
  EXPECT_DOUBLE_EQ(gigabytes(Sharding::none, 64), 120);
  struct Row {
    int ranks;
    double stage1, stage2, stage3;
  };
  for (const Row& row :
       {Row{1, 120, 120, 120}, Row{4, 52.5, 41.3, 30}, Row{16, 35.6, 21.6, 7.5},
        Row{64, 31.4, 16.6, 1.88}, Row{256, 30.4, 15.4, 0.47}, Row{1024, 30.1, 15.1, 0.12}}) {
    EXPECT_NEAR(gigabytes(Sharding::zero1, row.ranks), row.stage1, 0.06);
    EXPECT_NEAR(gigabytes(Sharding::zero2, row.ranks), row.stage2, 0.06);
    EXPECT_NEAR(gigabytes(Sharding::zero3, row.ranks), row.stage3, 0.006);
    EXPECT_EQ(gigabytes(Sharding::fsdp_block, row.ranks), gigabytes(Sharding::zero3, row.ranks));
  }
}

TEST(Memory, of_a_block_sharded_step_is_its_share_two_blocks_and_their_gradients) {
  const Network network = gpt({});
  Job job;
  job.gpus = 8;
  job.optimizer = Optimizer::adamw;
  job.strategy = parse_strategy("fsdp=block");
  const double block = 12.0 * 768 * 768 + 13 * 768;
  const double root = network.parameters() - 12 * block;
  const MemoryParts parts = memory_parts(network, job);
  EXPECT_DOUBLE_EQ(parts.state.value(), 16 * network.parameters() / 8);
  EXPECT_DOUBLE_EQ(parts.gathered.value(), 4 * (root + 2 * block) + 4 * root);
  EXPECT_EQ(parts.buckets.value(), 0);
  job.strategy = parse_strategy("fsdp=block,reshard=no");
  EXPECT_DOUBLE_EQ(memory_parts(network, job).gathered.value(),
                   4 * network.parameters() + 4 * root);
  job.strategy = parse_strategy("hsdp=4x2");
  EXPECT_DOUBLE_EQ(memory_parts(network, job).state.value(), 16 * network.parameters() / 2);
}

TEST(Memory, of_zero_2_holds_one_bucket_of_gradients) {
  const Network network = mlp({1024, 8, 64});
  Job job;
  job.strategy = parse_strategy("zero=2,bucket=1MB");
  EXPECT_EQ(memory_parts(network, job).buckets.value(), 1e6);
  job.strategy = parse_strategy("zero=2");
  EXPECT_EQ(memory_parts(network, job).buckets.value(), 4 * network.parameters());
}

}  // namespace
}  // namespace ddpx
