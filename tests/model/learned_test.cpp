#include "model/learned.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/conformal.hpp"

namespace ddpx {
namespace {

const StepKind kKind{"pcie", 2, DType::fp32, Engine::torch, Regime::gpu_bound};

JudgedStep judged(double miss, std::string network = "mlp", std::string family = "ddp") {
  return {kKind, std::move(network), std::move(family), 1 + miss, {}};
}

// Missed by 1 %, 2 %, ... n %, this way and that.
std::vector<JudgedStep> steps_missed(int n) {
  std::vector<JudgedStep> steps;
  for (int i = 1; i <= n; ++i) steps.push_back(judged((i % 2 == 0 ? 0.01 : -0.01) * i));
  return steps;
}

TEST(Learned, intervals_are_the_rank_of_what_was_missed) {
  const Learned learned(steps_missed(19));
  const LearnedErrors* errors = learned.errors_of(kKind, Strategy{});
  ASSERT_NE(errors, nullptr);
  EXPECT_EQ(errors->steps, 19U);
  EXPECT_NEAR(errors->step, 0.18, 1e-12);  // ceil(20 x 0.9) = 18th
  EXPECT_FALSE(errors->speedup);
  EXPECT_FALSE(errors->coverage);  // one network: nothing is left to judge it by
}

TEST(Learned, intervals_take_nine_steps) {
  EXPECT_EQ(Learned(steps_missed(8)).errors_of(kKind, Strategy{}), nullptr);
  EXPECT_NE(Learned(steps_missed(9)).errors_of(kKind, Strategy{}), nullptr);
  EXPECT_TRUE(Learned(std::vector<JudgedStep>{}).kinds().empty());
}

TEST(Learned, speedups_have_their_own_where_nine_were_measured) {
  std::vector<JudgedStep> steps = steps_missed(12);
  for (std::size_t i = 0; i < 8; ++i) steps[i].speedup_ratio = 1.3;
  EXPECT_FALSE(Learned(steps).errors_of(kKind, Strategy{})->speedup);
  steps[8].speedup_ratio = 0.6;
  EXPECT_NEAR(Learned(steps).errors_of(kKind, Strategy{})->speedup.value(), 0.4, 1e-12);
}

TEST(Learned, steps_speak_of_their_own_kind_alone) {
  const Learned learned(steps_missed(9));
  const auto others = [] {
    std::vector<StepKind> kinds(5, kKind);
    kinds[0].link = "nvlink";
    kinds[1].gpus = 4;
    kinds[2].dtype = DType::bf16;
    kinds[3].engine = Engine::native;
    kinds[4].regime = Regime::host_bound;
    return kinds;
  }();
  for (const StepKind& other : others) EXPECT_EQ(learned.errors_of(other, Strategy{}), nullptr);
}

TEST(Learned, steps_speak_of_the_families_of_strategies_that_ran) {
  std::vector<JudgedStep> steps = steps_missed(12);
  steps.back().family = "accumulation";
  const Learned learned(steps);
  Strategy strategy;
  strategy.micro_batches = 4;
  EXPECT_NE(learned.errors_of(kKind, strategy), nullptr);
  strategy.compression = DType::fp16;
  EXPECT_EQ(learned.errors_of(kKind, strategy), nullptr);
  EXPECT_THAT(learned.kinds().front().families, testing::ElementsAre("accumulation", "ddp"));
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

TEST(Families, are_what_a_strategy_mainly_does) {
  const auto family = [](const char* words) { return family_of(parse_strategy(words)); };
  EXPECT_EQ(family("ddp"), "ddp");
  EXPECT_EQ(family("ddp,bucket=25MiB"), "ddp");
  EXPECT_EQ(family("ddp,bucket=1MiB"), "bucket");
  EXPECT_EQ(family("ddp,accumulate=8,compress=fp16"), "compression");
  EXPECT_EQ(family("ddp,accumulate=8"), "accumulation");
  EXPECT_EQ(family("fsdp=block,accumulate=2"), "fsdp");
  EXPECT_EQ(family("zero=1"), "zero");
  EXPECT_EQ(family("hsdp=2x8"), "hsdp");
  EXPECT_EQ(family("no-sync"), "no-sync");
}

}  // namespace
}  // namespace ddpx
