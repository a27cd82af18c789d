#include "model/strategy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

void expect_same(const Strategy& a, const Strategy& b) {
  EXPECT_EQ(a.micro_batches, b.micro_batches);
  EXPECT_EQ(a.compression, b.compression);
  EXPECT_EQ(a.buckets.first, b.buckets.first);
  EXPECT_EQ(a.buckets.rest, b.buckets.rest);
  EXPECT_EQ(a.explicit_buckets, b.explicit_buckets);
  EXPECT_EQ(a.bucket_view, b.bucket_view);
  EXPECT_EQ(a.sharding, b.sharding);
  EXPECT_EQ(a.sync, b.sync);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.reshard, b.reshard);
  EXPECT_EQ(a.hybrid, b.hybrid);
  EXPECT_EQ(a.sync_every, b.sync_every);
  EXPECT_EQ(a.overlap, b.overlap);
  EXPECT_EQ(a.cycle, b.cycle);
}

TEST(Strategies, plain_ddp_is_pytorchs_default) {
  const Strategy s = parse_strategy("ddp");
  EXPECT_EQ(s.buckets.first, kMiB);
  EXPECT_EQ(s.buckets.rest, 25.0 * kMiB);
  EXPECT_FALSE(s.explicit_buckets);
  EXPECT_EQ(s.micro_batches, 1);
  expect_same(s, Strategy{});
}

TEST(Strategies, an_explicit_bucket_sets_the_first_limit_too_unless_told_otherwise) {
  const Strategy s = parse_strategy("ddp,bucket=100MiB");
  EXPECT_EQ(s.buckets.first, 100.0 * kMiB);
  const Strategy old = parse_strategy("first-bucket=1MiB,bucket=100MiB");
  EXPECT_EQ(old.buckets.first, kMiB);
  EXPECT_EQ(old.buckets.rest, 100.0 * kMiB);
}

TEST(Strategies, sizes_know_decimal_and_binary_units) {
  EXPECT_EQ(parse_strategy("bucket=2KB").buckets.rest, Bytes(2000));
  EXPECT_EQ(parse_strategy("bucket=2KiB").buckets.rest, Bytes(2048));
  EXPECT_EQ(parse_strategy("bucket=0.5GiB").buckets.rest, 512.0 * kMiB);
  EXPECT_EQ(parse_strategy("bucket=1.5MB").buckets.rest, Bytes(1.5e6));
}

TEST(Strategies, every_word_is_read) {
  const Strategy s = parse_strategy("ddp,accumulate=8,compress=bf16,bucket-view,channels=4");
  EXPECT_EQ(s.micro_batches, 8);
  EXPECT_EQ(s.compression, DType::bf16);
  EXPECT_TRUE(s.bucket_view);
  EXPECT_EQ(s.channels, 4);
  EXPECT_EQ(parse_strategy("fsdp").sharding, Sharding::fsdp_unit);
  EXPECT_EQ(parse_strategy("fsdp=unit,accumulate=2").sharding, Sharding::fsdp_unit);
  EXPECT_FALSE(parse_strategy("no-sync").sync);
}

TEST(Strategies, read_back_from_their_description) {
  for (const char* text : {"ddp",
                           "ddp,accumulate=8",
                           "ddp,compress=fp16",
                           "ddp,bucket=25MiB",
                           "ddp,bucket=0.1KB",
                           "ddp,bucket=123457KB",
                           "ddp,bucket=3.7MB,first-bucket=7.3KB,bucket-view,channels=4",
                           "ddp,first-bucket=2MiB",
                           "fsdp=unit,accumulate=3,channels=2",
                           "no-sync",
                           "no-sync,accumulate=2",
                           "fsdp=block",
                           "fsdp=block,reshard=no,accumulate=2",
                           "zero=1,compress=fp16,bucket-view",
                           "zero=2,bucket=50MB",
                           "zero=3,channels=4",
                           "hsdp=2x8",
                           "hsdp=2x8,reshard=no",
                           "ddp,overlap=no",
                           "ddp,cycle=5ms",
                           "ddp,cycle=3.5ms,overlap=no",
                           "zero=1,cycle=123.4567us",
                           "ddp,accumulate=4,sync=every"}) {
    const Strategy s = parse_strategy(text);
    expect_same(parse_strategy(describe(s)), s);
    EXPECT_EQ(describe(parse_strategy(describe(s))), describe(s)) << text;
  }
  EXPECT_EQ(describe(parse_strategy("bucket-view,accumulate=2")), "ddp,accumulate=2,bucket-view");
  EXPECT_EQ(describe(parse_strategy("bucket=25MiB")), "ddp,bucket=25MiB");
}

TEST(Strategies, a_bad_word_is_named_with_what_is_accepted) {
  for (const char* word : {"", "dpp", "DDP", "ddp ", " ddp", "ddp=1", "fsdp=tree",
                           "fsdp=", "zero=4", "zero", "hsdp", "bucket", "accumulate",
                           "bucket-view=1", "no-sync=1", "=", "=8", "\xff\xfe", "bucket-views"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); },
                       {"--strategy", "accepted: ddp, accumulate=K"});
  }
  expect_input_error([] { static_cast<void>(parse_strategy("ddp,,channels=4")); },
                     {"--strategy", "''"});
  expect_input_error([] { static_cast<void>(parse_strategy("ddp,")); }, {"--strategy"});
}

TEST(Strategies, a_bad_number_is_named_with_its_range) {
  for (const char* word : {"accumulate=0", "accumulate=-1", "accumulate=1.5", "accumulate=2x",
                           "accumulate=nan", "accumulate=inf", "accumulate=1e30", "accumulate=",
                           "channels=0", "channels=65", "channels= 4", "channels=0x10"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); },
                       {"--strategy", word, "number"});
  }
}

TEST(Strategies, a_bad_size_is_named_with_the_units) {
  for (const char* word :
       {"bucket=25", "bucket=25MIB", "bucket=25 MiB", "bucket=25TiB", "bucket=MiB", "bucket=0MiB",
        "bucket=-1MiB", "bucket=nanMiB", "bucket=infMiB", "bucket=1e308GiB", "first-bucket=1M",
        "first-bucket="}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); }, {"--strategy", word});
  }
  expect_input_error([] { static_cast<void>(parse_strategy("bucket=25")); }, {"MiB", "2^10"});
}

TEST(Strategies, a_coordinators_cycle_is_a_time_of_at_most_a_second) {
  EXPECT_EQ(parse_strategy("cycle=5ms").cycle, Seconds(5e-3));
  EXPECT_EQ(parse_strategy("cycle=1s").cycle, Seconds(1));
  for (const char* word : {"cycle=5", "cycle=0ms", "cycle=-1ms", "cycle=2s", "cycle=nanms",
                           "cycle=5 ms", "cycle=5min"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); },
                       {"--strategy", word, "needs a"});
  }
}

TEST(Strategies, the_compression_hooks_are_fp16_and_bf16) {
  for (const char* word : {"compress=fp32", "compress=tf32", "compress=int8", "compress="}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); },
                       {"compress=fp16", "compress=bf16"});
  }
}

TEST(Strategies, words_that_contradict_each_other_are_refused) {
  for (const char* text : {"ddp,fsdp",
                           "fsdp,bucket=25MiB",
                           "fsdp,compress=fp16",
                           "fsdp,bucket-view",
                           "fsdp,first-bucket=1MiB",
                           "no-sync,compress=fp16",
                           "no-sync,bucket=25MiB",
                           "no-sync,channels=4",
                           "no-sync,fsdp",
                           "zero=1,ddp",
                           "zero=2,compress=fp16",
                           "zero=2,bucket-view",
                           "zero=3,bucket=25MiB",
                           "zero=3,reshard=no",
                           "ddp,reshard=no",
                           "fsdp=unit,reshard=no",
                           "hsdp=2x4,zero=1",
                           "hsdp=2x4,fsdp=block",
                           "fsdp=block,overlap=no",
                           "zero=2,overlap=no",
                           "fsdp=block,cycle=5ms",
                           "no-sync,cycle=5ms",
                           "ddp,sync=every",
                           "fsdp=block,accumulate=2,sync=every",
                           "no-sync,overlap=no"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(text)); }, {"--strategy", text});
  }
  for (const char* text : {"ddp,ddp", "accumulate=2,accumulate=4", "fsdp,fsdp=unit"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(text)); }, {"twice"});
  }
}

TEST(Strategies, a_refused_option_says_which_strategies_can_use_it) {
  expect_input_error([] { static_cast<void>(parse_strategy("zero=3,bucket=25MiB")); },
                     {"'bucket'", "ddp, zero=1 and zero=2"});
  expect_input_error([] { static_cast<void>(parse_strategy("ddp,reshard=no")); },
                     {"'reshard'", "fsdp=block and hsdp"});
  expect_input_error([] { static_cast<void>(parse_strategy("sync=every")); }, {"accumulate=K"});
}

TEST(Strategies, groups_of_hsdp_are_two_counts) {
  EXPECT_EQ(parse_strategy("hsdp=2x8").hybrid, (HybridGroups{2, 8}));
  for (const char* word :
       {"hsdp=", "hsdp=2", "hsdp=x", "hsdp=2x", "hsdp=x8", "hsdp=1x8", "hsdp=2x1", "hsdp=0x8",
        "hsdp=-2x8", "hsdp=2x8x2", "hsdp=2.5x8", "hsdp=1e30x2", "hsdp=nanx8"}) {
    expect_input_error([&] { static_cast<void>(parse_strategy(word)); }, {"--strategy", word});
  }
  Job job;
  job.gpus = 8;
  job.strategy = parse_strategy("hsdp=2x8");
  expect_input_error([&] { check(job); }, {"--strategy", "2 x 8", "8"});
  job.gpus = 16;
  check(job);
}

TEST(Strategies, say_how_wide_state_is_spread_and_how_often_gradients_are_shared) {
  EXPECT_EQ(parse_strategy("ddp").shards(16), 1);
  EXPECT_EQ(parse_strategy("zero=1").shards(16), 16);
  EXPECT_EQ(parse_strategy("hsdp=2x8").shards(16), 8);
  EXPECT_EQ(parse_strategy("fsdp=block").shards(1), 1);
  EXPECT_EQ(parse_strategy("accumulate=4").synchronisations(), 1);
  EXPECT_EQ(parse_strategy("accumulate=4,sync=every").synchronisations(), 4);
  EXPECT_EQ(parse_strategy("zero=1,accumulate=4").synchronisations(), 1);
  EXPECT_EQ(parse_strategy("zero=2,accumulate=4").synchronisations(), 4);
  EXPECT_EQ(parse_strategy("no-sync,accumulate=4").synchronisations(), 0);
}

TEST(Strategies, random_bytes_are_read_or_refused_and_nothing_else) {
  std::mt19937_64 random(3);
  const std::string alphabet = "dpfs=,-0123456789.eMiBacumltehxzronykv\n\0\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      expect_same(parse_strategy(describe(parse_strategy(text))), parse_strategy(text));
    } catch (const InputError&) {
    }
  }
}

TEST(Jobs, weak_scaling_keeps_the_batch_per_rank_and_strong_divides_it) {
  Job job;
  job.gpus = 8;
  job.batch_per_rank = 256;
  job.strategy.micro_batches = 4;
  EXPECT_EQ(job.samples_per_micro_batch(), 256);
  EXPECT_EQ(job.samples_per_step(), 8192);
  job.scaling = Scaling::strong;
  EXPECT_EQ(job.samples_per_micro_batch(), 32);
  EXPECT_EQ(job.samples_per_step(), 1024);
}

TEST(Jobs, speedup_is_measured_against_one_gpu_with_plain_steps) {
  Job job;
  job.gpus = 8;
  job.scaling = Scaling::strong;
  job.strategy = parse_strategy("fsdp,accumulate=4");
  const Job one = job.one_gpu();
  EXPECT_EQ(one.gpus, 1);
  EXPECT_EQ(one.samples_per_step(), 256);
  expect_same(one.strategy, Strategy{});
}

TEST(Jobs, that_make_no_sense_name_the_flag) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  check(Job{});
  for (int gpus : {0, -1, std::numeric_limits<int>::min()}) {
    Job job;
    job.gpus = gpus;
    expect_input_error([&] { check(job); }, {"--gpus", std::to_string(gpus)});
  }
  for (double batch : {0.0, -1.0, nan, inf}) {
    Job job;
    job.batch_per_rank = batch;
    expect_input_error([&] { check(job); }, {"--batch"});
  }
  Job strong;
  strong.scaling = Scaling::strong;
  strong.batch_per_rank = 7;
  strong.gpus = 8;
  expect_input_error([&] { check(strong); }, {"--batch", "8"});
  Job none;
  none.strategy.micro_batches = 0;
  expect_input_error([&] { check(none); }, {"accumulate=0"});
}

}  // namespace
}  // namespace ddpx
