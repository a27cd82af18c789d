// --require, from the words of the command line to the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "predict/link_text.hpp"
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

const UnknownRow& find(const RequirementRow& row, Unknown unknown) {
  for (const UnknownRow& u : row.unknowns) {
    if (u.unknown == unknown) return u;
  }
  throw std::runtime_error(std::string(name(unknown)));
}

TEST(Require, what_does_not_fit_says_so_also_where_nothing_meets_it) {
  Options o = requiring("speedup=3");  // of two GPUs
  o.gpu_memory = "4GB";
  const ForecastDocument document = answer(o);
  const UnknownRow& batch = find(document.requirements.front(), Unknown::batch_per_rank);
  ASSERT_EQ(batch.solution.outcome, Outcome::never);
  // Activations of 8 layers of width 1024 alone are 32 KiB per sample.
  ASSERT_GT(batch.solution.value * 32 * 1024, 4e9);
  EXPECT_FALSE(batch.fits);
  EXPECT_TRUE(find(document.requirements.front(), Unknown::link_bandwidth).fits);
  const std::string text = text_of(document);
  EXPECT_THAT(text, HasSubstr("(does not fit)"));
  expect_fits(text);
  o.gpu_memory = "1MB";  // less than the parameters
  const ForecastDocument none = answer(o);
  EXPECT_FALSE(find(none.requirements.front(), Unknown::link_bandwidth).fits);
}

// 100M parameters in 40 ms: the step of another size is not known, and that it is scaled is said.
TEST(Require, a_step_that_grows_with_the_model_is_said_to_whatever_the_answer) {
  for (const char* requirement : {"speedup=1.2", "speedup=1.0001", "speedup=1.999", "speedup=3"}) {
    Options o;
    o.params = "100M";
    o.step_time = "40ms";
    o.batch = "32";
    o.links = {"fast"};
    o.requirements = {requirement};
    EXPECT_THAT(text_of(answer(o)), HasSubstr("step in proportion")) << requirement;
  }
  EXPECT_THAT(text_of(answer(requiring("speedup=1.5"))), Not(HasSubstr("in proportion")));
}

// 100M parameters in 40 ms: where the size is the answer, so is the step.
TEST(Require, gives_the_flags_of_a_model_known_by_its_step) {
  for (const char* requirement : {"speedup=1.2", "efficiency=0.65"}) {
    Options o;
    o.params = "100M";
    o.step_time = "40ms";
    o.batch = "32";
    o.links = {"fast"};
    o.requirements = {requirement};
    const Requirement required = parse_requirement("--require", requirement);
    const ForecastDocument document = answer(o);
    for (const UnknownRow& row : document.requirements.front().unknowns) {
      if (row.unknown != Unknown::model_size) continue;
      ASSERT_EQ(row.solution.outcome, Outcome::boundary) << requirement;
      const std::size_t space = row.flags.find(" --step-time ");
      Options again = o;
      again.requirements.clear();
      again.params = row.flags.substr(9, space - 9);
      again.step_time = row.flags.substr(space + 13);
      const Forecast f = answer(again).rows.front().forecast;
      const double reached =
          required.metric == Metric::speedup ? f.speedup.value : f.speedup.value / 2;
      EXPECT_NEAR(reached / row.flags_reached, 1, 1e-6) << row.flags;
      EXPECT_TRUE(required.met_by(reached)) << row.flags;
    }
  }
}

TEST(Require, every_requirement_has_to_be_met) {
  Options o = requiring("speedup=1.0001");
  const bool one = answer(o).unmet();
  o.requirements.emplace_back("speedup=1000000");
  EXPECT_FALSE(one);
  EXPECT_TRUE(answer(o).unmet());
}

TEST(Require, answers_fed_back_meet_the_requirement_to_a_thousandth) {
  Options o = requiring("speedup=1.5");
  o.networks = {"mlp:width=4096,depth=8"};
  const ForecastDocument document = answer(o);
  ASSERT_EQ(document.requirements.size(), 1U);
  const RequirementRow& row = document.requirements.front();
  EXPECT_LT(row.now, 1.5);
  int boundaries = 0;
  for (const UnknownRow& u : row.unknowns) {
    if (u.solution.outcome != Outcome::boundary) continue;
    ++boundaries;
    EXPECT_GE(u.solution.reached, 1.5) << u.what;
    if (u.unknown == Unknown::link_bandwidth) {
      EXPECT_NEAR(u.solution.reached, 1.5, 1.5e-3);
    }
  }
  EXPECT_GE(boundaries, 3);
  EXPECT_THAT(text_of(document), HasSubstr("xN: this link with its curves scaled by N."));
  // Through the command line again.
  const auto speedup = [](const Options& options) {
    return answer(options).rows.front().forecast.speedup.value;
  };
  Options batch;
  batch.networks = o.networks;
  const double needed = find(row, Unknown::batch_per_rank).solution.value;
  batch.batch = std::to_string(static_cast<int>(needed));
  EXPECT_DOUBLE_EQ(speedup(batch), find(row, Unknown::batch_per_rank).solution.reached);
  batch.batch = std::to_string(static_cast<int>(needed) - 1);
  EXPECT_LT(speedup(batch), 1.5);
  Options accumulate;
  accumulate.networks = o.networks;
  const int k = static_cast<int>(find(row, Unknown::accumulation).solution.value);
  accumulate.strategies = {"accumulate=" + std::to_string(k)};
  EXPECT_GE(speedup(accumulate), 1.5);
  accumulate.strategies = {"accumulate=" + std::to_string(k - 1)};
  EXPECT_LT(speedup(accumulate), 1.5);
  Options width;
  const UnknownRow& size = find(row, Unknown::model_size);
  if (size.solution.outcome == Outcome::boundary) {
    width.networks = {"mlp:depth=8,width=" + std::to_string(static_cast<int>(size.solution.value))};
    EXPECT_GE(speedup(width), 1.5);
  }
}

TEST(Require, one_gpu_is_no_answer_and_no_question) {
  const RequirementRow row = answer(requiring("efficiency=0.99")).requirements.front();
  EXPECT_EQ(find(row, Unknown::gpus).solution.outcome, Outcome::never);
  EXPECT_GE(find(row, Unknown::gpus).solution.value, 2);
  Options alone = requiring("efficiency=0.999");
  alone.gpus = "8x1";
  alone.inter_link = "fast";
  const RequirementRow spread = answer(alone).requirements.front();
  EXPECT_GE(find(spread, Unknown::gpus).solution.value, 2) << "a node of one GPU is one GPU";
  Options o = requiring("speedup=1");
  o.gpus = "1,2";
  expect_input_error([&] { static_cast<void>(answer(o)); }, {"--gpus", "'1,2'", "leave it out"});
}

TEST(Require, cuts_no_figure) {
  for (const char* requirement : {"communication-share=10%", "efficiency=0.987654321"}) {
    Options o = requiring(requirement);
    o.scaling = "strong";
    o.batch = "512";
    const std::string text = text_of(answer(o));
    expect_fits(text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("link latency")) {
        EXPECT_TRUE(line.ends_with(" %") || line.ends_with("s")) << line;
      }
    }
  }
}

// A link's answer is given as --link takes it.
TEST(Require, a_link_fed_back_by_its_figures_meets_the_requirement_and_a_thousandth_less_does_not) {
  Resolvers names = test::small_resolvers();
  names.link = [](std::string_view, const std::optional<std::string>& name,
                  const Machine& machine) {
    return name ? link_from_figures("--link", *name) : machine.links.front();
  };
  int fed = 0;
  for (const char* requirement : {"speedup=1.5", "efficiency=0.8", "communication-share=0.1"}) {
    for (const char* link : {"4GB/s,30us", "20GB/s,3ms", ""}) {
      Options o = requiring(requirement);
      o.networks = {"mlp:width=4096,depth=8"};
      if (*link != 0) o.links = {link};
      const RequirementRow row = run(query_from(o, names)).requirements.front();
      for (const UnknownRow& u : row.unknowns) {
        if (u.unknown != Unknown::link_bandwidth && u.unknown != Unknown::link_latency) continue;
        if (u.flags.empty()) continue;
        double rate = 0;
        double latency = 0;
        ASSERT_EQ(std::sscanf(u.flags.c_str(), "--link %lfGB/s,%lfus", &rate, &latency), 2);
        const auto now = [&](double factor) {
          const bool wide = u.unknown == Unknown::link_bandwidth;
          Options again = o;
          again.links = {std::to_string(rate * (wide ? factor : 1)) + "GB/s," +
                         std::to_string(latency * (wide ? 1 : factor)) + "us"};
          return run(query_from(again, names)).requirements.front().now;
        };
        EXPECT_TRUE(row.requirement.met_by(now(1))) << u.flags;
        // As it is asked for, or at a jump: a thousandth of the link less does not meet it.
        EXPECT_FALSE(row.requirement.met_by(now(u.solution.at_least ? 0.999 : 1.001))) << u.flags;
        EXPECT_NEAR(now(1), u.flags_reached, 1e-3 * row.requirement.value) << u.flags;
        ++fed;
      }
    }
  }
  EXPECT_GE(fed, 8);
}

// The figures of the table itself, rounded to the side that meets it.
TEST(Require, a_link_as_the_table_has_it_meets_the_requirement_to_a_thousandth) {
  Resolvers names = test::small_resolvers();
  names.link = [](std::string_view, const std::optional<std::string>& name,
                  const Machine& machine) {
    return name ? link_from_figures("--link", *name) : machine.links.front();
  };
  for (const char* requirement : {"speedup=1.3", "speedup=1.51", "efficiency=0.8123"}) {
    Options o = requiring(requirement);
    o.networks = {"mlp:width=4096,depth=8"};
    o.links = {"4GB/s,30us"};
    const ForecastDocument document = run(query_from(o, names));
    const std::string text = text_of(document);
    const std::string label = "link bandwidth  4.00 GB/s  at least ";
    const std::size_t at = text.find(label);
    ASSERT_NE(at, std::string::npos) << text;
    const double figure = std::strtod(text.c_str() + at + label.size(), nullptr);
    Options again = o;
    again.links = {std::to_string(figure) + "GB/s,30us"};
    const RequirementRow fed = run(query_from(again, names)).requirements.front();
    EXPECT_TRUE(fed.requirement.met_by(fed.now)) << text;
    const UnknownRow& row = find(document.requirements.front(), Unknown::link_bandwidth);
    EXPECT_NEAR(fed.now, row.solution.reached, 1e-3 * fed.now) << text;
  }
}

// Two GPUs paced by one loader train as one does: 1 is reached and not met.
TEST(Require, a_tie_is_called_one) {
  Options o = requiring("speedup=1");
  o.loader_rate = "100";
  const std::string text = text_of(answer(o));
  EXPECT_THAT(text, HasSubstr("it is 1.00x (a tie) now"));
  EXPECT_THAT(text, HasSubstr("best 1.00x (a tie)"));
  EXPECT_THAT(text, HasSubstr("at best 1.00x (a tie) at 1024."));
}

TEST(Require, says_the_best_that_can_be_reached_where_nothing_meets_it) {
  const ForecastDocument document = answer(requiring("efficiency=100%"));
  const RequirementRow& row = document.requirements.front();
  for (const UnknownRow& u : row.unknowns) {
    if (u.unknown == Unknown::gpus) {
      EXPECT_EQ(u.solution.outcome, Outcome::never);  // but one GPU
    }
  }
  const ForecastDocument unmet = answer(requiring("speedup=1000"));
  EXPECT_TRUE(unmet.unmet());
  const std::string text = text_of(unmet);
  expect_fits(text);
  EXPECT_THAT(text, HasSubstr("alone can meet it; the best each could do"));
  EXPECT_THAT(text, HasSubstr("best "));
}

TEST(Require, warns_of_a_job_and_of_an_answer_that_do_not_fit) {
  Options o = requiring("efficiency=99.5%");
  o.networks = {"mlp:width=32768,depth=8"};
  const ForecastDocument document = answer(o);
  ASSERT_EQ(
      std::count_if(document.warnings.begin(), document.warnings.end(),
                    [](const std::string& w) { return w.ends_with("it does not fit"); }),
      1 + std::count_if(document.requirements.front().unknowns.begin(),
                        document.requirements.front().unknowns.end(), [](const UnknownRow& u) {
                          return !u.fits && u.solution.outcome == Outcome::boundary &&
                                 u.unknown != Unknown::link_bandwidth &&
                                 u.unknown != Unknown::link_latency;
                        }));
  EXPECT_FALSE(find(document.requirements.front(), Unknown::batch_per_rank).fits);
  EXPECT_THAT(text_of(document), HasSubstr("(does not fit)"));
  EXPECT_THAT(text_of(document), HasSubstr("efficiency of at least 99.5 %"));
  o.networks = {"mlp:width=1024,depth=8"};
  EXPECT_THAT(text_of(answer(o)), Not(HasSubstr("fit)")));
}

TEST(Require, says_nothing_of_gpu_counts_that_were_not_varied) {
  Options o = requiring("speedup=7.5");
  o.networks = {"gpt:layers=2,hidden=256,heads=4"};
  o.gpus = "2x4";
  o.links = {"fast"};
  o.inter_link = "fast";
  o.strategies = {"hsdp=2x4"};
  const ForecastDocument document = answer(o);
  EXPECT_FALSE(document.requirements.front().useful);
  const std::string text = text_of(document);
  EXPECT_THAT(text, HasSubstr("not varied: GPUs: hsdp"));
  EXPECT_THAT(text, Not(HasSubstr("umber of")));
}

TEST(Require, solves_for_nodes_and_for_models_known_by_their_step) {
  Options o = requiring("speedup=12");
  o.networks.clear();
  o.params = "350M";
  o.step_time = "120ms";
  o.batch = "32";
  o.gpus = "2x4";
  o.links = {"fast"};
  o.inter_link = "fast";
  const ForecastDocument document = answer(o);
  const RequirementRow& row = document.requirements.front();
  EXPECT_EQ(find(row, Unknown::gpus).what, "nodes of 4");
  EXPECT_EQ(find(row, Unknown::model_size).what, "parameters");
  expect_fits(text_of(document));
  for (const char* share : {"communication-share=20%", "communication-share=1%"}) {
    o.requirements = {share};
    expect_fits(text_of(answer(o)));
  }
}

// More than the 72 counts that a smaller question looks at, and a network of one parameter.
TEST(Require, looks_as_far_as_the_question_stands) {
  Options o = requiring("speedup=20000");
  o.networks = {"mlp:width=1,depth=1,classes=1"};
  o.gpus = "4096x4";
  o.links = {"fast"};
  o.inter_link = "fast";
  const ForecastDocument document = answer(o);
  const RequirementRow& row = document.requirements.front();
  EXPECT_EQ(find(row, Unknown::gpus).now, 4096);
  EXPECT_EQ(find(row, Unknown::model_size).now, 1);
  ASSERT_TRUE(row.useful);
  EXPECT_LE(row.useful->most, 4096);
  EXPECT_GT(row.useful->most, 72);
}

// Where the host sets the pace no link changes anything.
TEST(Require, what_changes_nothing_is_shown_as_it_is) {
  Options o = requiring("speedup=1000");
  o.networks = {"mlp:width=8,depth=1"};
  o.engine = "torch";
  const ForecastDocument document = answer(o);
  const UnknownRow& link = find(document.requirements.front(), Unknown::link_bandwidth);
  ASSERT_EQ(link.solution.outcome, Outcome::never);
  ASSERT_EQ(link.solution.reached, document.requirements.front().now);
  EXPECT_EQ(link.solution.value, link.now);
}

TEST(Require, a_model_is_looked_for_by_one_word_for_its_size) {
  Options o;
  o.requirements = {"speedup=1.01"};
  o.params = "350M";
  o.step_time = "120ms";
  o.batch = "32";
  o.links = {"fast"};
  const std::string text = text_of(answer(o));
  EXPECT_THAT(text, HasSubstr("Another GPU pays from "));
  EXPECT_THAT(text, HasSubstr(" parameters.\n"));
  for (const char* wrong : {"every parameters", "no parameters", "from parameters"})
    EXPECT_THAT(text, Not(HasSubstr(wrong)));
}

}  // namespace
}  // namespace ddpx
