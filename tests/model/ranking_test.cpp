#include "model/ranking.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/validated.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::three_blocks;

struct Question {
  Machine machine = test::three_layer_machine();
  Link link = line_link(0, 1e6);
  Network network = three_blocks();
  Job job = test::one_bucket_per_tensor();

  [[nodiscard]] RankQuestion of(Bytes memory = {}) const {
    return {machine, link, network, job, 1, memory};
  }
};

const RankedStrategy& find(const std::vector<RankedStrategy>& ranked, const std::string& words) {
  const auto found = std::find_if(ranked.begin(), ranked.end(), [&](const RankedStrategy& row) {
    return describe(row.strategy) == words;
  });
  if (found == ranked.end()) throw std::runtime_error("not ranked: " + words);
  return *found;
}

std::vector<RankedStrategy> ranked(const Question& question,
                                   std::initializer_list<const char*> words, Bytes memory = {}) {
  std::vector<Candidate> list;
  for (const char* word : words) list.push_back({parse_strategy(word), &question.link});
  return rank(question.of(memory), list);
}

TEST(Ranking, gain_is_samples_per_second_over_plain_ddp) {
  // DDP's buckets of 2 and 4 MB end at 7 and 12 s, for 2 samples; accumulation over 2: 8 + 12 s for
  // 4.
  const auto rows = ranked(Question(), {"accumulate=2"});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(find(rows, "ddp").gain.value, 0);
  EXPECT_EQ(find(rows, "ddp").verdict, Gain::none);
  EXPECT_NEAR(find(rows, "ddp,accumulate=2").gain.value, 4.0 / 20 / (2.0 / 12) - 1, 1e-12);
  EXPECT_EQ(find(rows, "ddp,accumulate=2").effective_batch, 4);
}

TEST(Ranking, constants_that_both_share_cancel) {
  // Both steps are compute and communication in the same parts: a doubtful link moves them alike.
  Question q;
  for (Curve& curve : q.link.curves) curve.relative_error = 0.5;
  q.machine.residual = 0;
  const auto rows = ranked(q, {"bucket=30MiB,first-bucket=1MiB", "bucket=1KB"});
  const RankedStrategy& same = find(rows, "ddp,bucket=30MiB,first-bucket=1MiB");
  EXPECT_EQ(same.gain.value, 0);
  EXPECT_EQ(same.gain.low, 0);
  EXPECT_EQ(same.gain.high, 0);
  EXPECT_GT(same.step_time_s.relative_half_width(), 0.2);
  const RankedStrategy& other = find(rows, "ddp,bucket=1KB");
  const double apart =
      other.step_time_s.relative_half_width() + same.step_time_s.relative_half_width();
  EXPECT_LT(other.gain.high - other.gain.low, apart);
}

TEST(Ranking, a_gain_whose_interval_holds_0_is_none) {
  Question q;
  q.machine.residual = 0.02;
  const auto rows = ranked(q, {"bucket=1KB", "overlap=no", "bucket-view"});
  for (const RankedStrategy& row : rows) {
    const bool holds = row.gain.low <= 0 && row.gain.high >= 0;
    EXPECT_EQ(row.verdict == Gain::none, holds) << describe(row.strategy);
  }
  EXPECT_EQ(find(rows, "ddp,bucket-view").verdict, Gain::none);  // copies cost nothing here
  EXPECT_EQ(find(rows, "ddp,bucket=1KB").verdict, Gain::gains);
}

// Data that take 100 s a step, whatever the strategy; the device is done in 14.
TEST(Ranking, loaders_that_set_the_pace_leave_nothing_to_be_unsure_of_and_nothing_to_gain) {
  Question question;
  question.job.loader = Loader{question.job.samples_per_step() / 100, false};
  const auto rows = ranked(question, {"ddp", "compress=bf16", "zero=1", "accumulate=2"});
  for (const RankedStrategy& row : rows) {
    EXPECT_DOUBLE_EQ(row.samples_per_s.value, question.job.loader->rate(2));
    EXPECT_DOUBLE_EQ(row.samples_per_s.low, row.samples_per_s.high) << describe(row.strategy);
    EXPECT_EQ(row.verdict, Gain::none);
    EXPECT_NEAR(row.gain.low, 0, 1e-12) << describe(row.strategy);
    EXPECT_NEAR(row.gain.high, 0, 1e-12) << describe(row.strategy);
  }
  const std::vector<std::string> notes = rank_strategies(question.of()).notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.starts_with("the loaders set the pace of");
  }));
}

TEST(Ranking, what_no_run_validated_has_a_wider_interval) {
  const auto rows = ranked(Question(), {"compress=fp16", "compress=bf16"});
  const RankedStrategy& run = find(rows, "ddp,compress=fp16");
  const RankedStrategy& not_run = find(rows, "ddp,compress=bf16");
  EXPECT_TRUE(run.validated);
  EXPECT_FALSE(not_run.validated);
  EXPECT_EQ(run.gain.value, not_run.gain.value);
  const auto half = [](const Interval& i) { return i.relative_half_width(); };
  EXPECT_LT(half(run.step_time_s), half(not_run.step_time_s));
  EXPECT_GT(half(not_run.step_time_s), kNormalQuantile90 * kUnvalidatedError * 0.99);
}

TEST(Ranking, what_fits_comes_first_then_speed) {
  // 12 MB of parameters and gradients, 6 MB of buckets.
  const auto rows =
      ranked(Question(), {"accumulate=8", "bucket-view", "fsdp=block"}, Bytes(12.5e6));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_TRUE(*rows[0].fits);
  EXPECT_TRUE(*rows[1].fits);
  EXPECT_FALSE(*rows[2].fits);
  EXPECT_EQ(describe(rows[2].strategy), "ddp,accumulate=8");
  EXPECT_GE(rows[0].samples_per_s.value, rows[1].samples_per_s.value);
  Ranking nothing;
  nothing.strategies = ranked(Question(), {"fsdp=block"}, Bytes(1e3));
  EXPECT_TRUE(nothing.nothing_fits());
  nothing.strategies = ranked(Question(), {"fsdp=block"});
  EXPECT_FALSE(nothing.nothing_fits());
  EXPECT_FALSE(nothing.strategies.front().fits);
}

TEST(Ranking, the_front_holds_what_nothing_else_beats) {
  const auto rows = ranked(Question(), {"accumulate=8", "bucket-view", "overlap=no", "fsdp=block"});
  EXPECT_TRUE(find(rows, "ddp,accumulate=8").on_front);  // fastest
  EXPECT_TRUE(find(rows, "ddp,bucket-view").on_front);   // less memory, smaller batch
  EXPECT_FALSE(find(rows, "ddp").on_front);              // the view is as fast with less memory
  for (const RankedStrategy& a : rows) {
    for (const RankedStrategy& b : rows) {
      if (!a.on_front) continue;
      EXPECT_FALSE(b.samples_per_s.value > a.samples_per_s.value &&
                   b.memory.total() < a.memory.total() && b.effective_batch < a.effective_batch);
    }
  }
}

TEST(Ranking, tries_every_kind_and_says_what_it_leaves_out) {
  const Question q;
  const Ranking ranking = rank_strategies(q.of());
  for (const char* words :
       {"ddp", "ddp,accumulate=64", "ddp,compress=fp16", "ddp,compress=bf16", "ddp,bucket-view",
        "fsdp=unit", "fsdp=block", "fsdp=block,reshard=no", "zero=1", "zero=2", "zero=3"}) {
    static_cast<void>(find(ranking.strategies, words));
  }
  const auto noted = [&](const char* part) {
    return std::any_of(ranking.notes.begin(), ranking.notes.end(), [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    });
  };
  EXPECT_TRUE(noted("channel count is not searched"));
  EXPECT_TRUE(noted("HSDP is not tried"));
  Question without = q;
  without.network = test::three_layers();
  const Ranking of_rootless = rank_strategies(without.of());
  for (const RankedStrategy& row : of_rootless.strategies) EXPECT_FALSE(row.strategy.by_block());
}

TEST(Ranking, finds_the_channel_count_among_links_measured_with_others) {
  Question q;
  q.link.channels = 24;
  Link few = line_link(0, 2e6);
  few.name = "line-4ch";
  few.channels = 4;
  q.machine.links = {q.link, few};
  const Ranking ranking = rank_strategies(q.of());
  const RankedStrategy& row = find(ranking.strategies, "ddp,channels=4");
  EXPECT_EQ(row.link, "line-4ch");
  EXPECT_EQ(row.verdict, Gain::gains);
  q.machine.links[1] = line_link(0, 0.2e6);
  q.machine.links[1].name = "line-4ch";
  q.machine.links[1].channels = 4;
  const Ranking slower = rank_strategies(q.of());
  EXPECT_EQ(find(slower.strategies, "ddp,channels=4").verdict, Gain::loses);
  EXPECT_TRUE(std::any_of(slower.notes.begin(), slower.notes.end(), [](const std::string& note) {
    return note.starts_with("channel count buys nothing");
  }));
}

TEST(Ranking, finds_the_bucket_below_a_collapse_of_the_link) {
  // Past 64 MB messages run at a sixth of the bandwidth (U062).
  Question q;
  q.network = test::plain_layers(64, 8.0 * (1 << 20));
  q.machine = test::machine_for(q.network, 1, {1e-3, 1e-3, 1e-3});
  std::vector<CurvePoint> points;
  for (double bytes = 1 << 20; bytes <= 1 << 30; bytes *= 2)
    points.push_back(
        {Bytes(bytes), Seconds(1e-3 + bytes / (bytes > (64 << 20) ? 5e9 : 30e9)), false, ""});
  q.link.curves = {Curve({Collective::all_reduce, DType::fp32, Bytes{}, 2}, {}, points)};
  const Ranking ranking = rank_strategies(q.of());
  for (const RankedStrategy& row : ranking.strategies) {
    if (row.strategy.explicit_buckets) {
      EXPECT_LE(row.strategy.buckets.rest, 64.0 * kMiB);
      EXPECT_GE(row.strategy.buckets.rest, 16.0 * kMiB);
    }
  }
}

TEST(Validated, strategies_have_one_option_beside_ddp_that_runs_had) {
  for (const char* words : {"ddp", "bucket=1MiB", "accumulate=8", "compress=fp16,bucket=25MiB",
                            "bucket-view", "fsdp=unit", "fsdp=block", "no-sync", "channels=4"}) {
    EXPECT_TRUE(is_validated(parse_strategy(words))) << words;
  }
  for (const char* words : {"accumulate=16", "compress=bf16", "accumulate=2,compress=fp16",
                            "fsdp=block,accumulate=2", "zero=1", "zero=2", "zero=3", "hsdp=2x4",
                            "overlap=no", "accumulate=2,sync=every", "fsdp=unit,accumulate=2"}) {
    EXPECT_FALSE(is_validated(parse_strategy(words))) << words;
  }
}

}  // namespace
}  // namespace ddpx
