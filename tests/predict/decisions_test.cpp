// --rank-strategies, and what it shares with --require, from the words of the command line to the
// text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/table.hpp"
#include "predict/text.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_fits.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::expect_fits;
using test::expect_input_error;
using test::requiring;
using testing::HasSubstr;
using testing::Not;

Options rank() {
  Options o;
  o.rank_strategies = true;
  o.networks = {"mlp:width=1024,depth=8"};
  return o;
}

TEST(RankStrategies, is_a_table_of_80_columns_with_marks_and_notes) {
  const ForecastDocument document = answer(rank());
  EXPECT_TRUE(document.rows.empty());
  EXPECT_FALSE(document.unmet());
  const std::string text = text_of(document);
  expect_fits(text);
  for (const char* part : {"accumulate=64", "fsdp=block", "zero=3", "compress=bf16", "gain, %",
                           "none (", "16.0 GB (machine small)", "HSDP is not tried"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text, text_of(answer(rank())));
}

// A line of 80 columns is as wide as it may be without a word: a figure cut there would be another.
TEST(RankStrategies, cuts_no_figure) {
  for (const char* network : {"mlp:width=1024,depth=8", "mlp:width=8192,depth=24"}) {
    Options o = rank();
    o.networks = {network};
    const std::string text = text_of(answer(o));
    expect_fits(text);
    EXPECT_THAT(text, HasSubstr(" batch\n"));
    EXPECT_THAT(text, HasSubstr("32.8K\n"));  // 64 micro-batches of 256 on two ranks
  }
}

TEST(RankStrategies, says_of_a_strategy_what_its_forecast_alone_says) {
  const ForecastDocument ranked = answer(rank());
  for (const RankedStrategy& row : ranked.rankings.front().ranking.strategies) {
    Options alone;
    alone.networks = rank().networks;
    alone.strategies = {describe(row.strategy)};
    const Interval step = answer(alone).rows.front().forecast.step_time_s;
    EXPECT_NEAR(row.step_time_s.high / row.step_time_s.value, step.high / step.value, 0.005)
        << describe(row.strategy);
  }
}

TEST(RankStrategies, what_only_plans_answer_is_refused_beside_it) {
  for (Options o : {rank(), requiring("speedup=1.5")}) {
    o.samples = "1M";
    o.deadline = "1h";
    expect_input_error([&] { static_cast<void>(answer(o)); }, {"--samples", "cannot change"});
  }
}

// 135M parameters: 2.2 GB with DDP's buckets and activations, half of it with FSDP.
TEST(GpuMemory, leaves_out_plans_that_do_not_fit_and_says_so) {
  Options o;
  o.networks = {"mlp:width=4096,depth=8"};
  o.strategies = {"ddp", "fsdp=block"};
  o.gpus = "2";
  o.samples = "1M";
  o.price = "2";
  EXPECT_THAT(text_of(answer(o)), Not(HasSubstr("left out")));
  o.gpu_memory = "1500MB";
  const ForecastDocument document = answer(o);
  EXPECT_FALSE(document.unmet());
  EXPECT_EQ(document.decision->row, 1U);
  const std::string text = text_of(document);
  expect_fits(text);
  EXPECT_THAT(text, HasSubstr("1 plan does not fit in 1.50 GB (--gpu-memory)"));
  o.gpu_memory = "100MB";
  EXPECT_TRUE(answer(o).unmet());
  EXPECT_THAT(text_of(answer(o)), HasSubstr("No plan fits in 100 MB (--gpu-memory)."));
}

TEST(GpuMemory, is_what_a_forecast_and_a_requirement_warn_of) {
  for (Options o : {Options{}, requiring("speedup=1.0001")}) {
    o.networks = {"mlp:width=1024,depth=8"};
    EXPECT_TRUE(answer(o).warnings.empty());
    o.gpu_memory = "10MB";
    ASSERT_FALSE(answer(o).warnings.empty());
    EXPECT_THAT(answer(o).warnings.front(), HasSubstr("10.0 MB (--gpu-memory): it does not fit"));
  }
}

TEST(Strategies, hsdp_groups_are_the_nodes_that_are_given) {
  Options o;
  o.networks = {"mlp:width=1024,depth=8"};
  o.gpus = "2x4";
  o.links = {"fast"};
  o.inter_link = "fast";
  o.strategies = {"hsdp=4x2"};
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--strategy", "hsdp=4x2", "hsdp=2x4"});
}

TEST(RankStrategies, lists_the_memory_that_is_missing_where_nothing_fits) {
  Options o = rank();
  o.gpu_memory = "10MB";
  const ForecastDocument document = answer(o);
  EXPECT_TRUE(document.unmet());
  EXPECT_THAT(text_of(document), HasSubstr("Nothing fits in 10.0 MB:"));
  EXPECT_THAT(text_of(document), HasSubstr("The least is what fsdp=block needs: "));
  o.gpu_memory = "100MB";
  EXPECT_FALSE(answer(o).unmet());
  EXPECT_THAT(text_of(answer(o)), HasSubstr("Do not fit in 100 MB:"));
}

TEST(RankStrategies, tries_hsdp_between_nodes_of_several_gpus) {
  Options o = rank();
  o.gpus = "2x4";
  o.links = {"fast"};
  o.inter_link = "fast";
  const std::string text = text_of(answer(o));
  expect_fits(text);
  EXPECT_THAT(text, HasSubstr("hsdp=2x4,reshard=no"));
}

TEST(RankStrategies, have_nothing_to_compare_on_one_gpu) {
  Options o = rank();
  o.gpus = "2,1";
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--gpus", "nothing to compare"});
}

TEST(RankStrategies, makes_a_table_for_every_point_of_a_sweep) {
  Options o;
  o.rank_strategies = true;
  o.sweep = "width=256:1024";
  EXPECT_EQ(answer(o).rankings.size(), 3U);
}

TEST(Decisions, leave_no_room_for_options_that_cannot_change_them) {
  const auto refused = [](const Options& o, const char* flag) {
    expect_input_error([&] { check(o); }, {flag});
  };
  Options o = rank();
  o.strategies = {"ddp"};
  refused(o, "--strategy");
  o = rank();
  o.explain = true;
  refused(o, "--explain");
  o = rank();
  o.csv = true;
  refused(o, "--csv");
  o = rank();
  o.requirements = {"speedup=2"};
  refused(o, "--require");
  o = requiring("speedup=2");
  o.sweep = "width=256:1024";
  refused(o, "--sweep");
  o = requiring("speedup=2");
  o.crossover = true;
  refused(o, "--crossover");
  o = Options{};
  o.gpu_memory = "16GB";
  o.list_links = true;
  refused(o, "--gpu-memory");
  for (const char* size : {"16", "GB", "-1GB", "0GB", "1e30GB", "16 GB", "nanGB"}) {
    o = rank();
    o.gpu_memory = size;
    expect_input_error([&] { static_cast<void>(answer(o)); }, {"--gpu-memory"});
  }
  o = requiring("speedup=2");
  o.requirements.emplace_back("speedup=2.0");
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--require", "twice"});
  o = requiring("speedup=2");
  o.gpus = "1";
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--require", "one GPU"});
  o = requiring("speedup=2");
  o.strategies = {"no-sync"};
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--require", "no-sync"});
}

}  // namespace
}  // namespace ddpx
