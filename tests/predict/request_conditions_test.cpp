// What keeps scaling from being ideal, as a user says it: loaders, uneven work, ranks that differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/table.hpp"
#include "tests/predict/plan_question.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::not_answered;
using test::question;
using test::text_for;
using testing::HasSubstr;
using testing::Not;

// Samples are taken to be alike unless the model is known by its step alone.
TEST(RequestPlan, what_samples_are_anyway_cannot_change_the_answer) {
  Options o = question();
  o.straggler = "samples=0%";
  not_answered(o, {"--straggler", "'samples=0%'", "cannot change the answer"});
  o.straggler = "samples=10%";
  static_cast<void>(answer(o));
}

// Of N ranks the fullest has at most all of the work.
TEST(RequestPlan, no_rank_has_more_than_all_of_the_work) {
  Options o = question();
  o.gpus = "2,8";
  o.imbalance = "101%";
  not_answered(o, {"--imbalance", "2 ranks", "0 % to 100 %"});
  o.gpus = "8";
  static_cast<void>(answer(o));
  o.imbalance = "701%";
  not_answered(o, {"--imbalance", "8 ranks", "700 %"});
}

TEST(RequestPlan, nodes_need_both_of_their_numbers) {
  for (const char* half : {"2x", "x8", "x"}) {
    Options o = question();
    o.gpus = half;
    not_answered(o, {"--gpus", half, "2x8"});
  }
}

TEST(RequestPlan, the_throughput_is_the_smaller_of_model_and_loader) {
  Options o = question();
  const double free = answer(o).rows[1].forecast.samples_per_s.value;
  o.loader_rate = "1000";
  EXPECT_NEAR(answer(o).rows[1].forecast.samples_per_s.value, 1000, 1e-6);
  o.loader_rate = "1000/rank";
  EXPECT_NEAR(answer(o).rows[1].forecast.samples_per_s.value, 2000, 1e-6);
  o.loader_rate = "1G";
  EXPECT_DOUBLE_EQ(answer(o).rows[1].forecast.samples_per_s.value, free);
}

TEST(RequestPlan, conditions_are_shown_where_one_is_given) {
  Options o = question();
  EXPECT_THAT(text_for(o), Not(HasSubstr("loader keeps up")));
  o.loader_rate = "1000";
  const std::string text = text_for(o);
  EXPECT_THAT(text, HasSubstr("Not ideal for lack of:"));
  EXPECT_THAT(text, HasSubstr("of what the ranks consume"));
  EXPECT_THAT(text, HasSubstr("work even (--imbalance)"));
  o.loader_rate.reset();
  o.straggler = "spread=5%";
  EXPECT_THAT(text_for(o), HasSubstr("slowest rank 1.03x the mean"));  // 0.05 x 0.564
}

// Perfectly even is a fact like any other: the step is the same, and nothing is assumed of it.
TEST(RequestPlan, work_known_to_be_even_and_ranks_known_to_be_equal_are_no_assumptions) {
  Options o = question();
  const double step = answer(o).rows.front().forecast.step_time_s.value;
  o.imbalance = "0%";
  for (const char* straggler : {"0%", "spread=0%"}) {
    o.straggler = straggler;
    EXPECT_EQ(answer(o).rows.front().forecast.step_time_s.value, step);
    const std::string text = text_for(o);
    EXPECT_THAT(text, HasSubstr("fullest rank 1.00x the mean"));
    EXPECT_THAT(text, HasSubstr("slowest rank 1.00x the mean"));
    EXPECT_THAT(text, Not(HasSubstr("--imbalance")));
    EXPECT_THAT(text, Not(HasSubstr("--straggler")));
  }
}

TEST(RequestPlan, what_the_framework_takes_of_a_known_step_is_borrowed) {
  Options o;
  o.params = "25.6M";
  o.step_time = "97ms";
  o.batch = "32";
  o.gpus = "1,8";
  o.links = {"fast"};
  o.explain = true;
  const ForecastDocument d = answer(o);
  EXPECT_EQ(d.rows[0].forecast.step.term(Term::framework).value(), 0);
  EXPECT_DOUBLE_EQ(d.rows[1].forecast.step.term(Term::framework).value(), 2e-3);
  EXPECT_THAT(text_for(o), HasSubstr("framework"));
  o.step_time = "5ms";  // less its optimizer's update
  const double capped = answer(o).rows[1].forecast.step.term(Term::framework).value();
  EXPECT_LT(capped, 0.2 * 5e-3);
  EXPECT_GT(capped, 0.1 * 5e-3);
}

TEST(RequestPlan, samples_of_one_shape_leave_what_ranks_differ_by) {
  Options o;
  o.params = "25.6M";
  o.step_time = "97ms";
  o.batch = "4";
  o.gpus = "8";
  o.links = {"fast"};
  const auto imbalance = [&] {
    return answer(o).rows.front().forecast.step.term(Term::imbalance).value();
  };
  const double usual = imbalance();
  o.straggler = "samples=30%";
  EXPECT_DOUBLE_EQ(imbalance(), usual);
  o.straggler = "samples=0%";
  EXPECT_NEAR(imbalance() / usual, 0.02 / std::hypot(0.02, 0.15), 1e-9);
  o.straggler = "samples=60%";
  EXPECT_NEAR(imbalance() / usual, std::hypot(0.02, 0.3) / std::hypot(0.02, 0.15), 1e-9);
}

TEST(RequestPlan, accumulation_shows_more_samples_per_second_and_what_they_cost) {
  Options o = question();
  o.gpus = "2";
  o.strategies = {"ddp", "ddp,accumulate=8"};
  o.critical_batch = "1K";
  o.samples = "10M";
  const ForecastDocument d = answer(o);
  const Plan& plain = d.rows[0].plan.value();
  const Plan& accumulated = d.rows[1].plan.value();
  EXPECT_GT(d.rows[1].forecast.samples_per_s.value, d.rows[0].forecast.samples_per_s.value);
  EXPECT_LT(accumulated.run_s->value, plain.run_s->value);
  EXPECT_NEAR(accumulated.samples_ratio->value, (1 + 4.096) / 1.256, 1e-12);
  EXPECT_GT(accumulated.samples_ratio->value, plain.samples_ratio->value);
  EXPECT_THAT(text_for(o), HasSubstr("buy less than half of what they add"));
}

}  // namespace
}  // namespace ddpx
