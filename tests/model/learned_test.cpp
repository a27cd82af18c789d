#include "model/learned.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/conformal.hpp"

namespace ddpx {
namespace {

const StepKind kKind = kind_of("mlp:width=1024,depth=8", "pcie", Job{}, Regime::gpu_bound);

JudgedStep judged(double miss, std::string network = "mlp:width=1024", Strategy strategy = {}) {
  return {kKind, std::move(network), strategy, 256, 1 + miss, {}};
}

// Missed by 1 %, 2 %, ... n %, this way and that.
std::vector<JudgedStep> steps_missed(int n) {
  std::vector<JudgedStep> steps;
  for (int i = 1; i <= n; ++i) steps.push_back(judged((i % 2 == 0 ? 0.01 : -0.01) * i));
  return steps;
}

TEST(Learned, intervals_are_the_rank_of_what_was_missed) {
  const auto errors = Learned(steps_missed(19)).errors_of(kKind, Strategy{});
  ASSERT_TRUE(errors);
  EXPECT_EQ(errors->steps, 19U);
  EXPECT_EQ(errors->networks, 1U);
  EXPECT_EQ(errors->longer, 9U);
  // Of logarithms: ceil(20 x 0.9) = 18th is that of 0.83, the 19th that of 0.81.
  const Interval interval = errors->step.around(2);
  EXPECT_NEAR(interval.low, 2 * 0.83, 1e-12);
  EXPECT_NEAR(interval.high, 2 / 0.83, 1e-12);
  EXPECT_FALSE(errors->speedup);
  EXPECT_FALSE(errors->step.coverage);  // one network: nothing is left to judge it by
}

TEST(Learned, intervals_take_nine_steps) {
  EXPECT_FALSE(Learned(steps_missed(8)).errors_of(kKind, Strategy{}));
  EXPECT_TRUE(Learned(steps_missed(8)).kinds().empty());
  const Learned learned(steps_missed(9));
  EXPECT_TRUE(learned.errors_of(kKind, Strategy{}));
  ASSERT_EQ(learned.kinds().size(), 1U);
  EXPECT_EQ(learned.kinds()[0], std::pair(kKind, std::size_t{9}));
}

TEST(Learned, a_step_that_is_given_twice_counts_once) {
  EXPECT_FALSE(Learned(std::vector<JudgedStep>(40, judged(0.01))).errors_of(kKind, Strategy{}));
}

TEST(Learned, speedups_have_their_own_where_nine_were_measured) {
  std::vector<JudgedStep> steps = steps_missed(12);
  for (std::size_t i = 0; i < 8; ++i) steps[i].speedup_ratio = 1.3;
  EXPECT_FALSE(Learned(steps).errors_of(kKind, Strategy{})->speedup);
  steps[8].speedup_ratio = 0.5;
  const auto errors = Learned(steps).errors_of(kKind, Strategy{});
  EXPECT_NEAR(errors->speedup.value().around(1).low, 0.5, 1e-12);
}

TEST(Learned, steps_speak_of_their_own_kind_alone) {
  const Learned learned(steps_missed(9));
  std::vector<StepKind> others(9, kKind);
  others[0].link = "nvlink";
  others[1].gpus = 4;
  others[2].dtype = DType::bf16;
  others[3].engine = Engine::native;
  others[4].regime = Regime::host_bound;
  others[5].model = "gpt";
  others[6].optimizer = Optimizer::adamw;
  others[7].scaling = Scaling::strong;
  others[8].graphs = true;
  for (const StepKind& other : others) EXPECT_FALSE(learned.errors_of(other, Strategy{}));
}

TEST(Learned, a_sort_of_strategy_that_did_not_run_is_not_known) {
  std::vector<JudgedStep> steps = steps_missed(10);
  steps.push_back(judged(0.01, "mlp:width=512", parse_strategy("ddp,accumulate=4")));
  steps.push_back(judged(0.01, "mlp:width=512", parse_strategy("fsdp=unit")));
  const Learned learned(steps);
  for (const char* ran : {"ddp,bucket=1MiB", "ddp,channels=2", "ddp,accumulate=2",
                          "ddp,accumulate=4,bucket=5MiB", "fsdp=unit"})
    EXPECT_TRUE(learned.errors_of(kKind, parse_strategy(ran))) << ran;
  for (const char* did_not : {"ddp,accumulate=8", "ddp,compress=fp16", "fsdp=block", "zero=1",
                              "ddp,accumulate=4,sync=every", "no-sync"})
    EXPECT_FALSE(learned.errors_of(kKind, parse_strategy(did_not))) << did_not;
}

TEST(Learned, a_strategy_missed_by_more_than_the_others_has_its_own_width) {
  const Strategy accumulate = parse_strategy("ddp,accumulate=2");
  std::vector<JudgedStep> steps = steps_missed(60);
  for (JudgedStep& step : steps) step.step_ratio = 1 + 0.1 * (step.step_ratio - 1);
  steps.push_back(judged(0.3, "mlp:width=512", accumulate));
  const Learned learned(steps);
  EXPECT_NEAR(learned.errors_of(kKind, accumulate)->step.around(1).high, 1.3, 1e-12);
  EXPECT_LT(learned.errors_of(kKind, Strategy{})->step.around(1).high, 1.07);
}

// By the definition: each network's misses against the half-width of all the others'.
std::optional<double> coverage_by_definition(std::span<const Miss> misses) {
  std::size_t judged = 0;
  std::size_t inside = 0;
  for (const Miss& miss : misses) {
    std::vector<double> others;
    for (const Miss& other : misses) {
      if (other.network != miss.network) others.push_back(other.size);
    }
    const std::optional<double> half_width = conformal_half_width(others, 0.90);
    if (!half_width) continue;
    ++judged;
    if (miss.size <= *half_width) ++inside;
  }
  if (judged == 0) return std::nullopt;
  return static_cast<double>(inside) / static_cast<double>(judged);
}

TEST(Learned, coverage_is_that_of_networks_left_out) {
  std::mt19937_64 random(11);
  constexpr std::array<const char*, 7> kNetworks{"a", "b", "c", "d", "e", "f", "g"};
  for (int round = 0; round < 300; ++round) {
    std::vector<Miss> misses(std::uniform_int_distribution<std::size_t>(0, 60)(random));
    const std::size_t networks = std::uniform_int_distribution<std::size_t>(1, 7)(random);
    for (Miss& miss : misses) {
      miss.network =
          kNetworks.at(std::uniform_int_distribution<std::size_t>(0, networks - 1)(random));
      miss.size = std::uniform_int_distribution<int>(0, 20)(random) / 100.0;  // ties too
    }
    ASSERT_EQ(coverage_leaving_networks_out(misses), coverage_by_definition(misses)) << round;
  }
}

TEST(Learned, coverage_of_very_many_steps_takes_no_time) {
  std::vector<std::string> names;
  for (int i = 0; i < 200'000; ++i) names.push_back("mlp:width=" + std::to_string(i));
  std::vector<Miss> misses;
  for (const std::string& name : names) misses.push_back({name, 0.01});
  EXPECT_EQ(coverage_leaving_networks_out(misses), 1.0);
}

}  // namespace
}  // namespace ddpx
