#include "profiler/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "profiler/fake_backend.hpp"
#include "profiler/plan_grid.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/known_machine.hpp"

namespace ddpx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

bool everything(const Operation& /*unused*/) { return true; }

template <class T>
std::vector<T> of_kind(const MeasurementPlan& plan) {
  std::vector<T> found;
  for (const Task& task : plan.tasks) {
    const auto* operation = std::get_if<Operation>(&task.work);
    const T* wanted = operation == nullptr ? nullptr : std::get_if<T>(operation);
    if (wanted != nullptr) found.push_back(*wanted);
  }
  return found;
}

TEST(RefinementLevels, begin_at_the_ends_and_halve) {
  EXPECT_THAT(refinement_levels(0), ElementsAre());
  EXPECT_THAT(refinement_levels(1), ElementsAre(0));
  EXPECT_THAT(refinement_levels(2), ElementsAre(0, 0));
  EXPECT_THAT(refinement_levels(3), ElementsAre(0, 1, 0));
  EXPECT_THAT(refinement_levels(5), ElementsAre(0, 2, 1, 2, 0));
  EXPECT_THAT(refinement_levels(9), ElementsAre(0, 3, 2, 3, 1, 3, 2, 3, 0));
}

TEST(Plan, a_quick_one_covers_every_pass_collective_and_memory_operation_and_fits_its_budget) {
  const MeasurementPlan plan = make_plan({}, 2, everything, usual_rates());
  std::set<Pass> passes;
  for (const Product& p : of_kind<Product>(plan)) passes.insert(p.pass);
  EXPECT_EQ(passes.size(), 3U);
  std::set<std::pair<Collective, DType>> collectives;
  for (const CollectiveCall& c : of_kind<CollectiveCall>(plan)) {
    collectives.emplace(c.kind, c.dtype);
    EXPECT_EQ(c.ranks, 2);
  }
  EXPECT_EQ(collectives.size(), 4U);  // fp16 for the all-reduce alone
  EXPECT_FALSE(of_kind<Copy>(plan).empty());
  EXPECT_FALSE(of_kind<OptimizerStep>(plan).empty());
  EXPECT_EQ(of_kind<Launch>(plan).size(), 1U);
  EXPECT_LE(plan.estimate, plan.budget);
  EXPECT_EQ(plan.budget, Seconds(45));
}

// 4 KiB and 64 MiB are no whole number of elements for each of three, five or six ranks.
TEST(Plan, any_number_of_ranks_shares_its_messages_evenly) {
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12}) {
    const Possible evenly = [&](const Work& work) {
      const auto* operation = std::get_if<Operation>(&work);
      const auto* call = operation == nullptr ? nullptr : std::get_if<CollectiveCall>(operation);
      return call == nullptr || std::fmod(call->bytes.value(), 16.0 * ranks) == 0;
    };
    for (const bool gpus : {true, false}) {
      PlanOptions options;
      options.effort = Effort::full;
      options.gpus = gpus;
      options.budget = Seconds(1e4);
      const auto calls = of_kind<CollectiveCall>(make_plan(options, ranks, evenly, usual_rates()));
      EXPECT_EQ(calls.size(),
                of_kind<CollectiveCall>(make_plan(options, 2, everything, usual_rates())).size())
          << ranks;
    }
  }
}

// A bucket's biases go round NCCL once more than its weights.
TEST(Plan, on_gpus_sizes_are_timed_with_a_little_more_as_well) {
  PlanOptions options;
  options.effort = Effort::full;
  options.gpus = true;
  options.budget = Seconds(1e4);
  std::set<double> sizes;
  for (const CollectiveCall& c :
       of_kind<CollectiveCall>(make_plan(options, 2, everything, usual_rates())))
    sizes.insert(c.bytes.value());
  for (double bytes = 262144; bytes <= 268435456; bytes *= 2) {
    EXPECT_TRUE(sizes.count(bytes)) << bytes;
    EXPECT_TRUE(sizes.count(bytes * 4097 / 4096)) << bytes;
  }
  EXPECT_FALSE(sizes.count(131072.0 * 4097 / 4096));
}

// What products do to a further link's collectives is the link's, counted in shares of the memory.
TEST(Plan, a_link_alone_has_pairs_and_one_copy_on_gpus_and_neither_on_cores) {
  for (const bool gpus : {true, false}) {
    PlanOptions options;
    options.effort = Effort::full;
    options.compute = false;
    options.gpus = gpus;
    const MeasurementPlan plan = make_plan(options, 2, everything, usual_rates());
    std::size_t pairs = 0;
    for (const Task& task : plan.tasks) pairs += std::holds_alternative<Beside>(task.work) ? 1 : 0;
    EXPECT_EQ(pairs > 0, gpus);
    EXPECT_EQ(of_kind<Copy>(plan).size(), gpus ? 1U : 0U);
    EXPECT_TRUE(of_kind<Product>(plan).empty());
    EXPECT_FALSE(of_kind<CollectiveCall>(plan).empty());
  }
}

std::vector<Product> recorded(const MeasurementPlan& plan) {
  std::vector<Product> products;
  for (const Task& task : plan.tasks)
    if (const auto* record = std::get_if<Recorded>(&task.work)) products.push_back(record->product);
  return products;
}

// Of an H200.
const Rates kGpuRates{FlopsPerSecond(5e13), BytesPerSecond(4e12), BytesPerSecond(3e11),
                      Seconds(1e-5), "a GPU"};

TEST(Plan, gpus_record_products_between_those_they_time) {
  PlanOptions options{.gpus = true};
  for (const Effort effort : {Effort::quick, Effort::full}) {
    options.effort = effort;
    const MeasurementPlan plan = make_plan(options, 2, everything, kGpuRates);
    const auto place = [](const Product& p) {
      return std::tuple(p.pass, p.dtype, p.rows, p.in, p.out);
    };
    std::set<std::tuple<Pass, DType, double, double, double>> all;
    for (const Product& p : of_kind<Product>(plan)) all.insert(place(p));
    const std::size_t timed = all.size();
    for (const Product& p : recorded(plan)) EXPECT_TRUE(all.insert(place(p)).second) << p.in;
    EXPECT_GT(all.size(), 1.5 * static_cast<double>(timed));
    EXPECT_TRUE(all.contains({Pass::forward, DType::bf16, 1024, 768, 3072})) << "a GPT's MLP";
    EXPECT_LE(plan.estimate, plan.budget);
  }
  options.widths = {512, 1024};
  EXPECT_TRUE(recorded(make_plan(options, 2, everything, kGpuRates)).empty());
  EXPECT_TRUE(recorded(make_plan({}, 2, everything, usual_rates())).empty()) << "cores";
}

TEST(Plan, a_budget_that_times_no_more_than_ends_and_middles_records_less) {
  const PlanOptions whole{.effort = Effort::full, .gpus = true};
  const MeasurementPlan all = make_plan(whole, 2, everything, kGpuRates);
  PlanOptions shorter = whole;
  shorter.budget = all.estimate * 0.5;
  const MeasurementPlan cut = make_plan(shorter, 2, everything, kGpuRates);
  EXPECT_LT(recorded(cut).size(), recorded(all).size());
  EXPECT_LE(cut.estimate, *shorter.budget);
}

TEST(Plan, its_estimate_is_the_sum_of_its_tasks) {
  const MeasurementPlan plan = make_plan({}, 2, everything, usual_rates());
  Seconds sum{};
  for (const Task& task : plan.tasks) sum += task.estimate;
  EXPECT_DOUBLE_EQ(sum.value(), plan.estimate.value());
}

TEST(Plan, a_shorter_budget_leaves_out_finer_points_and_keeps_the_ends_of_every_axis) {
  const MeasurementPlan whole = make_plan({.effort = Effort::full}, 2, everything, usual_rates());
  const MeasurementPlan cut = make_plan({.effort = Effort::full, .budget = whole.estimate * 0.5}, 2,
                                        everything, usual_rates());
  EXPECT_LT(cut.tasks.size(), whole.tasks.size());
  EXPECT_EQ(cut.tasks.size() + cut.left_out, whole.tasks.size() + whole.left_out);
  EXPECT_LE(cut.estimate, whole.estimate * 0.5);
  std::set<double> widths;
  for (const Product& p : of_kind<Product>(cut)) widths.insert(p.in);
  EXPECT_TRUE(widths.contains(64) && widths.contains(2048));
}

TEST(Plan, a_budget_below_the_coarsest_grid_is_refused_with_what_it_takes) {
  test::expect_input_error(
      [] { static_cast<void>(make_plan({.budget = Seconds(0.01)}, 2, everything, usual_rates())); },
      {"--budget", "too short", "takes about"});
}

TEST(Plan, one_rank_measures_no_collectives) {
  const MeasurementPlan plan = make_plan({}, 1, everything, usual_rates());
  EXPECT_TRUE(of_kind<CollectiveCall>(plan).empty());
  for (const Task& task : plan.tasks) EXPECT_FALSE(std::holds_alternative<Beside>(task.work));
}

TEST(Plan, without_compute_it_measures_the_link_alone) {
  const MeasurementPlan plan = make_plan({.compute = false}, 2, everything, usual_rates());
  EXPECT_TRUE(of_kind<Product>(plan).empty());
  EXPECT_TRUE(of_kind<Copy>(plan).empty());
  EXPECT_FALSE(of_kind<CollectiveCall>(plan).empty());
}

TEST(Plan, lists_given_replace_the_usual_ones) {
  PlanOptions options;
  options.widths = {96, 48, 96};
  options.batches = {8};
  options.collectives = {Collective::all_gather};
  options.dtypes = {DType::fp32};
  const MeasurementPlan plan = make_plan(options, 2, everything, usual_rates());
  std::set<double> widths;
  for (const Product& p : of_kind<Product>(plan)) {
    widths.insert(p.in);
    EXPECT_EQ(p.rows, 8);
  }
  EXPECT_THAT(widths, ElementsAre(48, 96));
  for (const CollectiveCall& c : of_kind<CollectiveCall>(plan))
    EXPECT_EQ(c.kind, Collective::all_gather);
}

TEST(Plan, fp16_shards_are_measured_when_asked_for_by_name) {
  PlanOptions options;
  options.collectives = {Collective::all_gather};
  options.dtypes = {DType::fp16};
  const MeasurementPlan plan = make_plan(options, 2, everything, usual_rates());
  for (const CollectiveCall& c : of_kind<CollectiveCall>(plan)) EXPECT_EQ(c.dtype, DType::fp16);
  EXPECT_FALSE(of_kind<CollectiveCall>(plan).empty());
}

TEST(Plan, what_the_backend_does_not_support_is_not_planned) {
  const MeasurementPlan plan = make_plan(
      {}, 2, [](const Operation& o) { return std::holds_alternative<Copy>(o); }, usual_rates());
  EXPECT_EQ(of_kind<Copy>(plan).size(), plan.tasks.size());
}

TEST(Plan, with_nothing_supported_it_is_refused) {
  test::expect_input_error(
      [] {
        static_cast<void>(make_plan(
            {}, 2, [](const Operation&) { return false; }, usual_rates()));
      },
      {"nothing", "dtypes"});
}

TEST(Plan, on_a_slow_link_messages_that_take_seconds_are_left_out) {
  Rates slow = usual_rates();
  slow.bus = BytesPerSecond(4e6);
  const MeasurementPlan plan = make_plan({.budget = Seconds(600)}, 2, everything, slow);
  double largest = 0;
  for (const CollectiveCall& c : of_kind<CollectiveCall>(plan)) {
    largest = std::max(largest, c.bytes.value());
    EXPECT_LE(estimate(slow, c).value(), 3.0) << describe(Operation(c));
  }
  EXPECT_GE(largest, 4e6);
}

TEST(Plan, impossible_widths_are_refused_by_flag_and_value) {
  for (double bad : {0.0, -4.0, 2.5, std::numeric_limits<double>::infinity()}) {
    PlanOptions options;
    options.widths = {bad};
    test::expect_input_error(
        [&] { static_cast<void>(make_plan(options, 2, everything, usual_rates())); }, {"--widths"});
  }
}

TEST(FirstLook, finds_the_speeds_of_a_known_machine) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0.01});
  const Rates rates = first_look(fake);
  EXPECT_NEAR(rates.products.value(), 40e9, 2e9);
  EXPECT_NEAR(rates.memory.value(), 8e9, 0.4e9);
  EXPECT_NEAR(rates.bus.value(), 2e9, 0.2e9);
}

TEST(PlanText, names_kinds_counts_times_and_what_was_left_out) {
  const MeasurementPlan plan =
      make_plan({.effort = Effort::full, .budget = Seconds(20)}, 2, everything, usual_rates());
  const std::string text = plan_text(plan);
  EXPECT_THAT(text, HasSubstr("products in fp32"));
  EXPECT_THAT(text, HasSubstr("all_reduce in fp16"));
  EXPECT_THAT(text, HasSubstr("of 20 s"));
  EXPECT_THAT(text, HasSubstr("left out"));
  EXPECT_THAT(text, HasSubstr("widths 64,"));
}

}  // namespace
}  // namespace ddpx
