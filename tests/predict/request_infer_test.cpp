// --infer-link as asked on the command line: the inverse of the forecast of the same flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "predict/infer.hpp"
#include "predict/link_text.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::small_resolvers;
using testing::HasSubstr;
using testing::Not;

Resolvers resolvers_of_figures() {
  Resolvers names = small_resolvers();
  names.link = [](std::string_view, const std::optional<std::string>& name, const Machine&) {
    return link_from_figures("--link", name.value());
  };
  return names;
}

// Everything that --infer-link and a forecast have in common.
struct Training {
  const char* params = "340M";
  const char* gpus = "2";
  const char* batch = "8";
  const char* strategy = "ddp";
  const char* straggler = nullptr;
};

Options options_of(const Training& training) {
  Options o;
  o.params = training.params;
  o.gpus = training.gpus;
  o.batch = training.batch;
  o.strategies = {training.strategy};
  if (training.straggler != nullptr) o.straggler = training.straggler;
  o.machine = "small";
  return o;
}

TEST(RequestInfer, a_link_that_is_found_forecasts_the_step_it_was_found_from) {
  for (const Training& training :
       {Training{}, Training{.gpus = "16", .batch = "2"}, Training{.strategy = "ddp,overlap=no"},
        Training{.gpus = "4", .strategy = "ddp,accumulate=4"}, Training{.straggler = "samples=0%"},
        Training{.straggler = "spread=5%"}, Training{.gpus = "8", .straggler = "10%"},
        Training{.params = "25M", .batch = "64"}, Training{.gpus = "4", .strategy = "fsdp=block"},
        Training{.strategy = "zero=1"}}) {
    const bool accumulates = std::string(training.strategy).find("accumulate") != std::string::npos;
    Options o = options_of(training);
    o.infer_link = accumulates ? "t1=300ms,tn=2.1s" : "t1=300ms,tn=510ms";
    const InferredLink found = *infer(o, small_resolvers()).inferred;
    EXPECT_FALSE(found.jump);
    EXPECT_THAT(found.reading, HasSubstr("and 10.0 us latency (assumed)"));
    o.infer_link.reset();
    o.step_time = "300ms";
    std::array<char, 64> figures{};
    std::snprintf(figures.data(), figures.size(), "%.9gGB/s,10us",
                  found.bus_bandwidth.value() / 1e9);
    o.links = {figures.data()};
    const ForecastDocument again = run(query_from(o, resolvers_of_figures()));
    EXPECT_NEAR(again.rows.front().forecast.step_time_s.value / found.step.value(), 1, 1e-3)
        << training.gpus << " " << training.strategy << " "
        << (training.straggler == nullptr ? "" : training.straggler);
  }
}

// The forecast by bandwidth is looked over for its largest fall between two links a thousandth
// apart: a step in the middle of it is given by neither side.
TEST(RequestInfer, where_the_forecast_jumps_the_steps_on_both_sides_are_said) {
  Options o = options_of({.params = "50M", .strategy = "zero=3"});
  o.step_time = "120ms";
  const auto step_over = [&](double gigabytes) {
    std::array<char, 64> figures{};
    std::snprintf(figures.data(), figures.size(), "%.12gGB/s,10us", gigabytes);
    o.links = {figures.data()};
    const ForecastDocument document = run(query_from(o, resolvers_of_figures()));
    return document.rows.front().forecast.step_time_s.value;
  };
  double middle = 0;
  double fall = 0;
  constexpr double kBelow = 1.4;  // of 1 to 20 GB/s the largest fall is at 1.5
  double before = step_over(kBelow);
  for (double gigabytes = kBelow * 1.001; gigabytes < 1.6; gigabytes *= 1.001) {
    const double step = step_over(gigabytes);
    if (before - step > fall) {
      fall = before - step;
      middle = (before + step) / 2;
    }
    before = step;
  }
  ASSERT_GT(fall, 5e-3 * middle);
  o.step_time.reset();
  o.links.clear();
  std::array<char, 64> steps{};
  std::snprintf(steps.data(), steps.size(), "t1=120ms,tn=%.9gs", middle);
  o.infer_link = steps.data();
  const InferredLink found = *infer(o, small_resolvers()).inferred;
  ASSERT_TRUE(found.jump);
  EXPECT_GT(found.jump->below.value(), middle);
  EXPECT_LT(found.jump->above.value(), middle);
  EXPECT_THAT(found.reading, HasSubstr("No bandwidth gives exactly that step"));
  o.infer_link.reset();
  o.step_time = "120ms";
  const double gigabytes = found.bus_bandwidth.value() / 1e9;
  EXPECT_NEAR(step_over(gigabytes * (1 - 1e-7)) / found.jump->below.value(), 1, 1e-5);
  EXPECT_NEAR(step_over(gigabytes * (1 + 1e-7)) / found.jump->above.value(), 1, 1e-5);
}

TEST(RequestInfer, what_the_forecast_takes_besides_the_link_is_said_and_not_the_links) {
  Options o = options_of({.straggler = "20%"});
  o.infer_link = "t1=300ms,tn=900ms";
  const InferredLink found = *infer(o, small_resolvers()).inferred;
  EXPECT_DOUBLE_EQ(found.framework.value(), 2e-3);  // docs/model.md: 2 ms of every exchange
  // A fifth of the compute is waited for at least; the optimizer's 17 ms (340 M parameters x 12 B
  // over 240 GB/s) are not compute.
  EXPECT_GT(found.slowest_rank.value(), 0.2 * (0.300 - 0.0171));
  ASSERT_TRUE(found.link_alone);
  EXPECT_LT(*found.link_alone, found.bus_bandwidth);
  EXPECT_THAT(found.reading, HasSubstr("Of the step the forecast takes 2.00 ms for the framework "
                                       "and 5"));
  EXPECT_THAT(found.reading, HasSubstr("explains the rest, if nothing else is at fault"));
  EXPECT_THAT(found.reading, HasSubstr("If the link took all of it, "));
}

TEST(RequestInfer, what_is_said_to_give_in_place_of_nodes_works) {
  Options o = options_of({.gpus = "4x8"});
  const auto refused = [&](std::initializer_list<std::string_view> words) {
    test::expect_input_error([&] { static_cast<void>(infer(o, small_resolvers())); }, words);
  };
  o.infer_link = "t1=300ms,t16=900ms";
  refused({"--gpus", "is 32 GPUs", "a step on 16", "leave it out for 16", "t32="});
  o.infer_link = "t1=300ms,t32=900ms";
  refused({"--gpus", "'4x8'", "give 32, or leave it out"});
  for (const char* gpus : {"32", ""}) {
    o.gpus = gpus;
    if (o.gpus->empty()) o.gpus.reset();
    EXPECT_TRUE(infer(o, small_resolvers()).inferred->explained);
  }
  o.gpus = "4x8";
  o.infer_link = "t1=300ms,tn=900ms";
  refused({"--gpus", "'4x8'", "give 32"});
  o.gpus = "32";
  EXPECT_TRUE(infer(o, small_resolvers()).inferred->explained);
}

TEST(RequestInfer, without_a_batch_samples_are_taken_as_alike) {
  Options o = options_of({.batch = "1"});
  o.infer_link = "t1=300ms,tn=900ms";
  const ForecastDocument one = infer(o, small_resolvers());
  EXPECT_TRUE(one.warnings.empty());
  EXPECT_TRUE(one.inferred->batch_given);
  o.batch.reset();
  const ForecastDocument unknown = infer(o, small_resolvers());
  EXPECT_GT(one.inferred->slowest_rank, unknown.inferred->slowest_rank);
  EXPECT_FALSE(unknown.inferred->batch_given);
  ASSERT_EQ(unknown.warnings.size(), 1U);
  EXPECT_THAT(unknown.warnings.front(), HasSubstr("--batch"));
  o.machine.reset();
  EXPECT_THAT(infer(o, small_resolvers()).warnings.front(),
              HasSubstr("the memory of machine small (Small GPU); name yours by --gpu"));
  o.straggler = "20%";  // a delay needs no batch
  EXPECT_GT(infer(o, small_resolvers()).inferred->slowest_rank, unknown.inferred->slowest_rank);
  o.straggler = "samples=0%";
  EXPECT_DOUBLE_EQ(infer(o, small_resolvers()).inferred->slowest_rank.value(),
                   unknown.inferred->slowest_rank.value());
}

TEST(RequestInfer, under_strong_scaling_it_says_what_it_takes_of_the_share) {
  Options o = options_of({.gpus = "4"});
  o.scaling = "strong";
  o.infer_link = "t1=300ms,tn=200ms";
  const ForecastDocument found = infer(o, small_resolvers());
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_THAT(found.warnings.front(), HasSubstr("not faster in proportion"));
  EXPECT_NEAR(found.inferred->speedup, 1.5, 1e-9);
}

TEST(RequestInfer, a_step_that_framework_and_ranks_explain_needs_no_link) {
  Options o = options_of({.params = "1M"});
  o.infer_link = "t1=300ms,tn=320ms";
  try {
    static_cast<void>(infer(o, small_resolvers()));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UnmetError& error) {
    EXPECT_THAT(error.what(), HasSubstr("for the framework and "));
    EXPECT_THAT(error.what(), HasSubstr("for waiting for the slowest rank"));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    EXPECT_THAT(error.what(), Not(HasSubstr("name yours")));
  }
  // What was assumed for want of a flag is not lost with the answer.
  o.machine.reset();
  o.batch.reset();
  o.infer_link = "t1=300ms,tn=302ms";
  try {
    static_cast<void>(infer(o, small_resolvers()));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UnmetError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("machine small is assumed: name yours by --gpu or --machine; "
                          "no --batch is given"));
  }
}

TEST(RequestInfer, without_an_answer_the_json_document_says_why_there_is_none) {
  Options o = options_of({.params = "1M"});
  o.json = true;
  for (const char* steps : {"t1=300ms,tn=320ms", "t1=300ms,tn=1ms", "t1=1ms,tn=100000s"}) {
    o.infer_link = steps;
    const ForecastDocument none = infer(o, small_resolvers());
    EXPECT_TRUE(none.unmet()) << steps;
    EXPECT_FALSE(none.inferred->explained);
    EXPECT_THAT(none.inferred->reading, HasSubstr("--infer-link: "));
  }
  EXPECT_DOUBLE_EQ(infer(o, small_resolvers()).inferred->speedup, 2 * 1e-3 / 1e5);
  o.infer_link = "t1=300ms,tn=900ms";
  EXPECT_FALSE(infer(o, small_resolvers()).unmet());
}

TEST(RequestInfer, flags_that_contradict_it_are_refused) {
  const auto refused = [](const auto& change, std::initializer_list<std::string_view> words) {
    Options o = options_of({});
    o.infer_link = "t1=300ms,tn=900ms";
    change(o);
    test::expect_input_error([&] { static_cast<void>(infer(o, small_resolvers())); }, words);
  };
  refused([](Options& o) { o.batch = "8,16"; }, {"--batch", "8,16"});
  refused([](Options& o) { o.strategies = {"ddp", "fsdp=block"}; }, {"--strategy", "second"});
  refused([](Options& o) { o.strategies = {"no-sync"}; }, {"--strategy", "exchanges nothing"});
  refused([](Options& o) { o.strategies = {"hsdp=2x2"}; }, {"--strategy", "two links"});
  refused([](Options& o) { o.strategies = {"ddp,channels=4"}; }, {"--strategy", "channels"});
  refused([](Options& o) { o.gpu = "t4"; }, {"--gpu", "--machine", "both"});
  refused([](Options& o) { o.batch.reset(), o.straggler = "samples=30%"; }, {"--batch"});
  refused([](Options& o) { o.straggler = "2000%"; }, {"--straggler"});
  refused([](Options& o) { o.scaling = "strong", o.batch = "1"; }, {"--batch", "without a sample"});
}

}  // namespace
}  // namespace ddpx
