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
  EXPECT_DOUBLE_EQ(memory_needed(network, job).value(), 2 * g + 3 * g / 4 + activations);
}

}  // namespace
}  // namespace ddpx
