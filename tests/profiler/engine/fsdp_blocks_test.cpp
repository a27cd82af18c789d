// FSDP by block, read from the order of calls; its arithmetic is tested with real ranks.
#include "profiler/engine/fsdp_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"

namespace ddpx::engine {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

Strategy blocks(bool reshard, int k = 1) {
  Strategy strategy;
  strategy.sharding = Sharding::fsdp_block;
  strategy.reshard = reshard;
  strategy.micro_batches = k;
  return strategy;
}

// Of the tiny network, whose blocks of 20, 20 and 15 parameters two ranks pad to 24, 24 and 16.
std::vector<std::string> calls_of(const Job& job, const std::vector<std::string>& words) {
  MockDevice device(2, 1);
  Trainer trainer(device, tiny_network(), job, kRate);
  DeviceBatches batches(device, trainer.layout(), 2,
                        static_cast<std::size_t>(job.strategy.micro_batches));
  device.log.clear();
  trainer.step(batches.all());
  std::vector<std::string> found;
  for (const std::string& call : device.log) {
    for (const std::string& word : words) {
      if (call.starts_with(word)) {
        found.push_back(call);
        break;
      }
    }
  }
  return found;
}

const std::vector<std::string> kSeen{"all_",    "reduce_", "wait compute", "copy",
                                     "product", "add ",    "sgd"};

const std::vector<std::string> kForward{
    "all_gather 24",     "wait compute",  "all_gather 24",    "copy 20",
    "product forward 8",                                                            //
    "wait compute",      "all_gather 16", "copy 20",          "product forward 8",  //
    "wait compute",      "copy 15",       "product forward 6"};

TEST(FsdpBlocks, gather_the_next_block_while_one_computes_and_scatter_each_as_it_is_complete) {
  std::vector<std::string> expected = kForward;
  const std::vector<std::string> backward{"all_gather 16",
                                          "wait compute",
                                          "copy 15",
                                          "all_gather 24",  //
                                          "product data_gradient 8",
                                          "product weight_gradient 12",  //
                                          "copy_scaled 15",
                                          "reduce_scatter 16",  //
                                          "wait compute",
                                          "copy 20",
                                          "all_gather 24",  //
                                          "product data_gradient 8",
                                          "product weight_gradient 16",  //
                                          "wait compute",
                                          "copy_scaled 20",
                                          "reduce_scatter 24",  //
                                          "wait compute",
                                          "copy 20",
                                          "product weight_gradient 16",  //
                                          "wait compute",
                                          "copy_scaled 20",
                                          "reduce_scatter 24",
                                          "wait compute",  //
                                          "sgd 32"};
  expected.insert(expected.end(), backward.begin(), backward.end());
  EXPECT_THAT(calls_of(native_job(2, 2, blocks(true)), kSeen), ElementsAreArray(expected));
}

TEST(FsdpBlocks, gather_nothing_again_without_resharding) {
  std::vector<std::string> expected = kForward;
  const std::vector<std::string> backward{"product data_gradient 8",
                                          "product weight_gradient 12",
                                          "copy_scaled 15",
                                          "reduce_scatter 16",  //
                                          "product data_gradient 8",
                                          "product weight_gradient 16",
                                          "wait compute",
                                          "copy_scaled 20",
                                          "reduce_scatter 24",  //
                                          "product weight_gradient 16",
                                          "wait compute",
                                          "copy_scaled 20",
                                          "reduce_scatter 24",
                                          "wait compute",  //
                                          "sgd 32"};
  expected.insert(expected.end(), backward.begin(), backward.end());
  EXPECT_THAT(calls_of(native_job(2, 2, blocks(false)), kSeen), ElementsAreArray(expected));
}

TEST(FsdpBlocks, add_the_shards_of_later_micro_batches) {
  EXPECT_THAT(calls_of(native_job(2, 2, blocks(false, 2)), {"reduce_", "add ", "sgd"}),
              ElementsAre("reduce_scatter 16", "reduce_scatter 24", "reduce_scatter 24",  //
                          "reduce_scatter 16", "add 8", "reduce_scatter 24", "add 12",
                          "reduce_scatter 24", "add 12", "sgd 32"));
}

TEST(FsdpBlocks, keep_optimizer_state_of_the_shard_only) {
  EXPECT_THAT(calls_of(with(native_job(2, 2, blocks(true)), Optimizer::adamw), {"adamw"}),
              ElementsAre("adamw 32"));
}

TEST(FsdpBlocks, load_of_any_range_what_lies_in_this_ranks_shard) {
  const Layout layout(tiny_network());
  std::vector<float> flat(layout.parameters());
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = static_cast<float>(i + 1);
  for (const int rank : {0, 1}) {
    MockDevice device(2, rank);
    FsdpBlocks sharing(device, layout, true);
    sharing.load(0, std::span<const float>(flat).first(17));
    sharing.load(17, std::span<const float>(flat).subspan(17));
    std::vector<float> shards(32);
    device.download(sharing.to_update().parameters, shards);
    // Forward order: the first layer lies last in the flat order.
    const std::vector<float> expected =
        rank == 0 ? std::vector<float>{36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,  //
                                       16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,  //
                                       1,  2,  3,  4,  5,  6,  7,  8}
                  : std::vector<float>{48, 49, 50, 51, 52, 53, 54, 55, 0, 0, 0, 0,  //
                                       28, 29, 30, 31, 32, 33, 34, 35, 0, 0, 0, 0,  //
                                       9,  10, 11, 12, 13, 14, 15, 0};
    EXPECT_EQ(shards, expected) << "rank " << rank;
  }
}

}  // namespace
}  // namespace ddpx::engine
