// The schedule of DistributedDataParallel, read from the order of calls.
#include "profiler/engine/buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"

namespace ddpx::engine {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// The calls of one step of the tiny network that match the words. Its gradients arrive as head bias
// 3, head weight 12, fc1 bias 4, weight 16, fc0 bias 4, weight 16. Bytes: 12 48 16 64 16 64.
std::vector<std::string> calls(const Strategy& strategy, const std::vector<std::string>& words,
                               int ranks = 2) {
  MockDevice device(ranks);
  Trainer trainer(device, tiny_network(), native_job(ranks, 2, strategy), kRate);
  DeviceBatches batches(device, trainer.layout(), 2,
                        static_cast<std::size_t>(strategy.micro_batches));
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

Strategy two_buckets() {
  Strategy strategy;
  strategy.buckets = {Bytes(60), Bytes(1000)};  // 12 + 48 reach the first limit
  return strategy;
}

TEST(Buckets, gradients_are_copied_in_as_they_appear_and_a_full_bucket_leaves_at_once) {
  EXPECT_THAT(calls(two_buckets(), {"product weight", "copy", "all_reduce", "record", "wait"}),
              ElementsAre("product weight_gradient 12", "copy_scaled 3", "copy_scaled 12",  //
                          "record compute", "wait communication", "all_reduce 15",
                          "record communication",                                           //
                          "product weight_gradient 16", "copy_scaled 4", "copy_scaled 16",  //
                          "product weight_gradient 16", "copy_scaled 4", "copy_scaled 16",  //
                          "record compute", "wait communication", "all_reduce 40",
                          "record communication",               //
                          "wait compute", "copy 3", "copy 12",  // after its own wait only
                          "wait compute", "copy 4", "copy 16", "copy 4", "copy 16"));
}

TEST(Buckets, bucket_view_copies_nothing_out_and_the_optimizer_reads_the_buckets) {
  Strategy strategy = two_buckets();
  strategy.bucket_view = true;
  EXPECT_THAT(calls(strategy, {"copy ", "wait compute", "sgd"}),
              ElementsAre("wait compute", "wait compute", "sgd 55"));
}

TEST(Buckets,
     the_default_is_one_bucket_here_and_an_explicit_small_cap_one_per_tensor_that_reaches_it) {
  EXPECT_THAT(calls({}, {"all_reduce"}), ElementsAre("all_reduce 55"));
  Strategy strategy;
  strategy.buckets = BucketLimits::explicit_cap(Bytes(1));
  EXPECT_THAT(calls(strategy, {"all_reduce"}),
              ElementsAre("all_reduce 3", "all_reduce 12", "all_reduce 4", "all_reduce 16",
                          "all_reduce 4", "all_reduce 16"));
}

TEST(Buckets, the_optimizer_comes_last_and_is_one_kernel_over_all_parameters) {
  MockDevice device(2);
  Trainer trainer(device, tiny_network(), native_job(2, 2), kRate);
  DeviceBatches batches(device, trainer.layout(), 2, 1);
  trainer.step(batches.all());
  EXPECT_EQ(device.log.back(), "sgd 55");
}

TEST(Buckets, only_the_last_micro_batch_synchronises_and_copies) {
  Strategy strategy = two_buckets();
  strategy.micro_batches = 3;
  const auto seen = calls(strategy, {"product weight_gradient 12", "all_reduce", "copy_scaled 12"});
  EXPECT_THAT(seen, ElementsAre("product weight_gradient 12", "product weight_gradient 12",
                                "product weight_gradient 12", "copy_scaled 12", "all_reduce 15",
                                "all_reduce 40"));
}

TEST(Buckets, later_micro_batches_add_each_tensor_once) {
  Strategy strategy;
  strategy.micro_batches = 2;
  EXPECT_THAT(calls(strategy, {"add "}),
              ElementsAre("add 3", "add 12", "add 4", "add 16", "add 4", "add 16"));
}

TEST(Buckets, the_compression_hook_casts_and_divides_full_buckets_and_casts_back_after_each_wait) {
  Strategy strategy = two_buckets();
  strategy.compression = DType::fp16;
  EXPECT_THAT(calls(strategy, {"cast", "scale", "all_reduce", "wait compute", "copy"}),
              ElementsAre("copy 3", "copy 12", "cast 15", "scale 15", "all_reduce 15",  //
                          "copy 4", "copy 16", "copy 4", "copy 16", "cast 40", "scale 40",
                          "all_reduce 40",                                 //
                          "wait compute", "cast 15", "copy 3", "copy 12",  //
                          "wait compute", "cast 40", "copy 4", "copy 16", "copy 4", "copy 16"));
}

TEST(Buckets, one_rank_has_no_buckets) {
  EXPECT_THAT(calls(two_buckets(), {"all_reduce", "copy"}, 1),
              ElementsAreArray(std::vector<std::string>{}));
}

TEST(Buckets, steps_after_the_first_are_alike) {
  MockDevice device(2);
  Trainer trainer(device, tiny_network(), native_job(2, 2, two_buckets()), kRate);
  DeviceBatches batches(device, trainer.layout(), 2, 1);
  device.log.clear();
  trainer.step(batches.all());
  const std::vector<std::string> first = device.log;
  device.log.clear();
  trainer.step(batches.all());
  EXPECT_EQ(device.log, first);
}

}  // namespace
}  // namespace ddpx::engine
