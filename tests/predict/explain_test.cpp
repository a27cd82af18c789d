#include "predict/explain.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "predict/table.hpp"
#include "predict/text.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/lines.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::unwrapped;

TEST(Explain, printed_terms_are_those_of_the_step_and_their_shares_add_up) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.strategies = {"ddp,accumulate=2,compress=fp16"};
  o.explain = true;
  const ForecastDocument document = answer(o);
  const Step& step = document.rows.front().forecast.step;
  double sum = 0;
  for (Seconds term : step.terms) sum += term.value();
  EXPECT_NEAR(sum, step.total().value(), 1e-15);
  EXPECT_NEAR(sum, document.rows.front().forecast.step_time_s.value, 1e-15);
  const std::string text = explanation_text(document, document.rows.front());
  double shares = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t percent = line.find(" %");
    if (percent == std::string::npos || line.starts_with("step")) {
      if (shares > 0) break;
      continue;
    }
    shares += std::stod(line.substr(line.rfind(' ', percent - 1)));
  }
  EXPECT_NEAR(shares, 100, 4);  // rounded, line by line
}

// 256 samples at 100 a second take 2.56 s, whatever the machine was timed at.
TEST(Explain, takes_no_step_that_waits_for_its_data_for_a_timing) {
  Options o;
  o.networks = {"mlp:width=1024,depth=8"};
  o.explain = true;
  o.loader_rate = "100";
  const Resolvers names = test::with_timed_step(Seconds(0.01));
  for (const char* gpus : {"1", "2"}) {
    o.gpus = gpus;
    const std::string text = unwrapped(text_of(run(query_from(o, names))));
    EXPECT_NE(text.find("waits for its data: it takes 2.56 s."), std::string::npos) << text;
    EXPECT_EQ(text.find("measured one-GPU step"), std::string::npos) << text;
    EXPECT_EQ(text.find("own timing"), std::string::npos) << text;
    EXPECT_EQ(text.find("(measured)"), std::string::npos) << text;
  }
}

// Four figures are called communication; each is said once, under the word it has elsewhere.
TEST(Explain, tells_the_figures_of_communication_apart) {
  Options o;
  o.networks = {"mlp:width=4096,depth=8"};
  o.explain = true;
  const ForecastDocument document = answer(o);
  const ForecastRow& row = document.rows.front();
  const std::string text = unwrapped(text_of(document));
  const Condition& sharing = row.conditions->front();
  EXPECT_NE(text.find("compute waits " + percent_text(row.forecast.step.communication_share()) +
                      " (comm)"),
            std::string::npos);
  EXPECT_NE(text.find("collectives run " +
                      percent_text(row.forecast.step.communication_busy_share()) + " (busy)"),
            std::string::npos);
  EXPECT_NE(text.find("sharing gradients takes " + percent_text(sharing.figure)),
            std::string::npos);
  EXPECT_NE(text.find("would be " + percent_text(sharing.lost) + " shorter (costs"),
            std::string::npos);
  o.strategies = {"no-sync"};
  EXPECT_EQ(text_of(answer(o)).find("Communication, of the step"), std::string::npos);
}

TEST(Explain, buckets_show_their_bandwidth_beside_the_peak) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.explain = true;
  const std::string text = text_of(answer(o));
  EXPECT_LE(test::longest_line(text), kColumns);
  EXPECT_NE(text.find("bus bandwidth"), std::string::npos);
  EXPECT_NE(text.find("large message: 4.00 GB/s."), std::string::npos) << text;
  EXPECT_NE(text.find("all-reduce 2-9, each"), std::string::npos) << text;
  EXPECT_NE(text.find("of peak"), std::string::npos) << text;
  EXPECT_NE(text.find("1 % slower of each costs the step: link bandwidth"), std::string::npos);
  EXPECT_NE(text.find("Nothing lies outside the calibration."), std::string::npos) << text;
}

TEST(Explain, the_interval_names_what_a_strategy_that_no_run_has_validated_adds) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.explain = true;
  const auto text = [&](const char* strategy) {
    o.strategies = {strategy};
    const ForecastDocument document = answer(o);
    return unwrapped(explanation_text(document, document.rows.front()));
  };
  // docs/results/decisions.md: one standard error of 0.09, and 1.645 of them: 14.8 %.
  EXPECT_NE(text("zero=1").find("strategies of a kind that no run has   validated 15 %"),
            std::string::npos)
      << text("zero=1");
  EXPECT_EQ(text("ddp").find("validated"), std::string::npos);
}

TEST(Explain, a_step_that_the_loaders_pace_has_an_interval_of_theirs) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.explain = true;
  o.loader_rate = "300/rank";  // 256 samples take 853 ms
  const ForecastDocument document = answer(o);
  const std::string text = unwrapped(explanation_text(document, document.rows.front()));
  EXPECT_NE(text.find("The loaders set the pace"), std::string::npos) << text;
  EXPECT_NE(text.find("The 90 % interval ends at 853 ms, for no source"), std::string::npos);
  EXPECT_EQ(text.find("adds the squares"), std::string::npos);
}

TEST(Explain, the_interval_names_its_largest_source_first) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.explain = true;
  const ForecastDocument document = answer(o);
  EXPECT_DOUBLE_EQ(document.rows.front().explanation->residual_half_width,
                   kNormalQuantile90 * 0.02);
  const std::string text = unwrapped(text_of(document));
  EXPECT_NE(text.find("the model's residual 3.3 %."), std::string::npos) << text;
  EXPECT_LT(text.find("can move it by: contention 3"), text.find(", link 2")) << text;
  EXPECT_LT(text.find(", link 2"), text.find(", compute 0")) << text;
}

}  // namespace
}  // namespace ddpx
