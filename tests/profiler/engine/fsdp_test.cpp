// One-unit FSDP, read from the order of calls; its arithmetic is tested with real ranks.
#include "profiler/engine/fsdp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"

namespace ddpx::engine {
namespace {

using testing::ElementsAre;

// 55 parameters: on four ranks 14 each, one of padding.
std::vector<std::string> calls(int k) {
  MockDevice device(4, 1);
  Trainer trainer(device, tiny_network(), native_job(4, 2, fsdp_unit(k)), kRate);
  DeviceBatches batches(device, trainer.layout(), 2, static_cast<std::size_t>(k));
  device.log.clear();
  trainer.step(batches.all());
  std::vector<std::string> found;
  for (const std::string& call : device.log) {
    for (const char* word : {"copy", "all_", "reduce_", "cross", "add 14", "sgd", "wait compute"}) {
      if (call.starts_with(word)) found.push_back(call);
    }
  }
  return found;
}

TEST(Fsdp, gathers_before_forward_scatters_after_backward_and_updates_its_shard) {
  EXPECT_THAT(calls(1),
              ElementsAre("all_gather 56", "wait compute", "copy 56", "cross_entropy 6",
                          "copy_scaled 56", "reduce_scatter 56", "wait compute", "sgd 14"));
}

TEST(Fsdp, shares_every_micro_batch_and_adds_the_shards) {
  EXPECT_THAT(calls(2), ElementsAre("all_gather 56", "wait compute", "copy 56", "cross_entropy 6",
                                    "copy_scaled 56", "reduce_scatter 56", "wait compute",  //
                                    "all_gather 56", "wait compute", "copy 56", "cross_entropy 6",
                                    "copy_scaled 56", "reduce_scatter 56", "wait compute", "add 14",
                                    "sgd 14"));
}

TEST(Fsdp, one_rank_shards_nothing) {
  MockDevice device(1);
  const Layout layout(small_network());
  EXPECT_EQ(make_sharing(device, layout, fsdp_unit())->to_update().parameters.elements,
            layout.parameters());
}

TEST(Fsdp, flat_buffers_are_padded_to_equal_shards) {
  EXPECT_EQ(padded(55, 2), 56U);
  EXPECT_EQ(padded(55, 4), 56U);
  EXPECT_EQ(padded(55, 5), 55U);
  EXPECT_EQ(padded(55, 64), 64U);
}

}  // namespace
}  // namespace ddpx::engine
