#include "calibration/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit_links.hpp"
#include "model/error.hpp"
#include "model/forecast.hpp"
#include "model/network_spec.hpp"
#include "tests/calibration/fake_source.hpp"

namespace ddpx {
namespace {

using test::FakeSource;
using test::kBackwardRate;
using test::kBandwidth;
using test::kCopyBandwidth;
using test::kForwardRate;
using test::kOptimizerBandwidth;

TEST(FitMachine, AKnownMachineIsRecoveredWithinItsStandardErrors) {
  int inside = 0;
  int total = 0;
  const auto judge = [&](double value, double truth, double relative_error) {
    inside += std::abs(value / truth - 1) <= 2 * relative_error;
    ++total;
  };
  for (unsigned seed = 1; seed <= 40; ++seed) {
    FitReport report;
    const Machine machine = fit_machine(FakeSource(seed).measurements(), {}, report);
    judge(machine.copy_bandwidth.value.value(), kCopyBandwidth,
          machine.copy_bandwidth.relative_error);
    judge(machine.optimizer_bandwidth.value.value(), kOptimizerBandwidth,
          machine.optimizer_bandwidth.relative_error);
    for (const ProductPoint& p : machine.products) {
      const double rate = p.product.pass == Pass::forward ? kForwardRate : kBackwardRate;
      judge(p.time.value.value(), p.product.flops().value() / rate, p.time.relative_error);
    }
    const ProtocolLine& line = machine.links.front().curves.front().lines().back();
    judge(line.bandwidth.value.value(), kBandwidth, line.bandwidth.relative_error);
  }
  EXPECT_GE(static_cast<double>(inside) / total, 0.93) << inside << " of " << total;
}

TEST(FitMachine, TheForecastOfTheFittedMachineIsThatOfTheKnownOne) {
  FitReport report;
  const Machine machine = fit_machine(FakeSource(7).measurements(), {}, report);
  const Network network = network_from("mlp:width=2048,depth=8");
  Job job;
  const Step step = StepModel(machine, machine.links.front(), network, job.one_gpu()).run();
  const double square = 2.0 * 256 * 2048 * 2048;
  const double products =
      8 * square / kForwardRate + 7 * square / kBackwardRate + 8 * square / kBackwardRate;
  double traffic = 0;
  double kernels = 0;  // besides products, which have their gaps in their times
  for (const Layer& layer : network.layers) {
    traffic += 256 * (layer.forward_bytes + layer.backward_bytes);
    kernels += layer.forward_kernels + layer.backward_kernels;
  }
  const double expected = products + traffic / kCopyBandwidth + kernels * 1e-6;
  EXPECT_NEAR(step.term(Term::forward).value() + step.term(Term::backward).value(), expected,
              0.02 * expected);
}

TEST(FitMachine, AGapBesideCollectivesIsLongerByWhatRecordsSayOrElseByWhatTwoH200Had) {
  Measurements m = FakeSource(3).measurements();
  StepSample step;
  step.network = "mlp:width=2048,depth=4";
  step.batch = 256;
  step.seconds = {1e-3, 1e-3, 1e-3};
  m.steps.push_back(step);
  FitReport report;
  const auto longer = [&](Engine engine) {
    return fit_machine(m, {}, report).longer_gap_of(engine).value();
  };
  // Each engine's own, whichever trained the steps (docs/results/h200x2.md).
  for (const Engine trained : {Engine::native, Engine::torch}) {
    m.steps.back().engine = trained;
    EXPECT_NEAR(longer(Engine::native), 1.4e-6, 1e-12);
    EXPECT_NEAR(longer(Engine::torch), 0.95e-6, 1e-12);
  }
  EXPECT_TRUE(fit_machine(m, {}, report).longer_gap[0]->origin.starts_with("prior: "));
  m.gaps = {{false, 1.2e-6}};  // one kind alone tells nothing
  EXPECT_NEAR(longer(Engine::native), 1.4e-6, 1e-12);
  // Records are the native engine's.
  m.gaps = {{false, 1.2e-6}, {true, 3.2e-6}, {true, 3.4e-6}};
  EXPECT_NEAR(longer(Engine::native), 2.1e-6, 1e-12);
  EXPECT_NEAR(longer(Engine::torch), 0.95e-6, 1e-12);
  m.gaps = {{false, 1.2e-6}, {true, 1.1e-6}};
  EXPECT_NEAR(longer(Engine::native), 0, 1e-12);
}

// Whatever the error of the gap itself (a tenth, in these measurements).
TEST(FitMachine, TheErrorOfALongerGapIsThatOfTheDifferenceOfTwoMeansAndOfStepsApart) {
  Measurements m = FakeSource(3).measurements();
  StepSample step;
  step.network = "mlp:width=2048,depth=4";
  step.batch = 256;
  step.seconds = {1e-3, 1e-3, 1e-3};
  m.steps.push_back(step);
  FitReport report;
  const auto error = [&](Engine engine) {
    const Machine machine = fit_machine(m, {}, report);
    const Estimate<Seconds>& longer = *machine.longer_gap.at(static_cast<std::size_t>(engine));
    return longer.relative_error * longer.value.value();
  };
  // Deviations of 1.7, 1.3 and 1.6 us, and of 0.9, 1.2 and 0.6: docs/results/h200x2.md.
  const double apart = std::sqrt((0.167 * 0.167 + 0.233 * 0.233 + 0.067 * 0.067) / 2) * 1e-6;
  EXPECT_NEAR(error(Engine::native), apart, 0.01e-6);
  EXPECT_NEAR(error(Engine::torch), 0.3e-6, 1e-12);
  m.gaps = {{false, 1.2e-6}, {true, 3.0e-6}};
  EXPECT_NEAR(error(Engine::native), apart, 0.01e-6) << "one of each says nothing of its own";
  // Variances of 0.04 and 0.18 us^2, of three and of two: 0.04/3 + 0.18/2 of the means (Welch
  // 1947).
  m.gaps = {{false, 1.2e-6}, {true, 2.7e-6}, {false, 1.4e-6}, {true, 3.3e-6}, {false, 1.0e-6}};
  const double of_means = std::sqrt(0.04 / 3 + 0.18 / 2) * 1e-6;
  EXPECT_NEAR(error(Engine::native), std::hypot(of_means, apart), 0.01e-6);
}

TEST(FitMachine, WorkingSetsGiveAPointEachAndTheLargestIsTheMemorysOwn) {
  Measurements m = FakeSource(3).measurements();
  m.copies = {{Bytes(1e6), {2e6 / 8e9, 2e6 / 8e9, 2e6 / 8e9}, {}, Bytes(6.4e7)},
              {Bytes(1e4), {2e4 / 5e10, 2e4 / 5e10, 2e4 / 5e10}, {}, Bytes(6.4e5)}};
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  EXPECT_NEAR(machine.copy_bandwidth.value.value(), 8e9, 1);
  ASSERT_EQ(machine.copy_points.size(), 2U);
  EXPECT_EQ(machine.copy_points[0].working_set, Bytes(6.4e5));
  EXPECT_NEAR(machine.copy_points[0].bandwidth.value(), 5e10, 1);
  EXPECT_NEAR(machine.copy_points[1].bandwidth.value(), 8e9, 1);
  EXPECT_TRUE(machine.optimizer_points.empty());
}

TEST(FitMachine, CpuRanksKeepAllOverlapOfTheHookUnlessAPriorSaysOtherwise) {
  Measurements m = FakeSource(3).measurements();
  FitReport report;
  m.device.multiprocessors = 0;
  EXPECT_EQ(fit_machine(m, {}, report).hook_overlap.value, 1.0);
  EXPECT_EQ(fit_machine(m, {}, report).hook_overlap.relative_error, 0.0);
  EXPECT_NE(fit_machine(m, {}, report).hook_overlap.origin, "");
  m.priors.push_back({"hook_overlap", 0.5, 0.5, "Python"});
  EXPECT_EQ(fit_machine(m, {}, report).hook_overlap.value, 0.5);
}

TEST(FitMachine, ResidencyComesFromTheKernelRecord) {
  FitReport report;
  const Machine machine = fit_machine(FakeSource(1).measurements(), {}, report);
  ASSERT_TRUE(machine.products.front().grid);
  EXPECT_EQ(machine.products.front().grid->blocks, 300);
  EXPECT_EQ(machine.products.front().grid->per_multiprocessor, 2);  // 65536 / (128 x 256)
}

// Each: what is wrong, and a word the one-line message must hold.
TEST(FitMachine, WhatIsMissingIsNamed) {
  const auto message = [](const Measurements& m) {
    FitReport report;
    try {
      FitOptions options;
      options.place = "given.json";
      (void)fit_machine(m, options, report);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  Measurements m = FakeSource(1).measurements();
  m.copies.clear();
  EXPECT_NE(message(m).find("copy_bandwidth_bytes_per_s"), std::string::npos);
  EXPECT_EQ(message(m).find("given.json: "), 0U);
  m = FakeSource(1).measurements();
  m.optimizers.clear();
  EXPECT_NE(message(m).find("optimizer_bandwidth_bytes_per_s"), std::string::npos);
  m = FakeSource(1).measurements();
  m.products.clear();
  EXPECT_NE(message(m).find("neither products nor one-GPU steps"), std::string::npos);
  m = FakeSource(1).measurements();
  m.links.push_back({"empty", "", Topology::pcie, false, 0, 0, ""});
  EXPECT_NE(message(m).find("'empty'"), std::string::npos);
  m = FakeSource(1).measurements();
  m.collectives.front().link = "elsewhere";
  EXPECT_NE(message(m).find("'elsewhere'"), std::string::npos);
  m = FakeSource(1).measurements();
  m.priors.push_back({"speed_of_light", 3e8, 0, "t"});
  EXPECT_NE(message(m).find("'speed_of_light'"), std::string::npos);
}

// Two measurements 10 % apart: their standard deviation is ln(1.1)/sqrt(2), and a third would be
// drawn with sqrt(1 + 1/2) times that.
TEST(FitLinks, what_lies_between_measurements_of_one_link_is_part_of_its_error) {
  Measurements m;
  m.links.push_back({.name = "wire", .title = "", .source = ""});
  for (const double slower : {1.0, 1.1}) {
    for (double bytes = 1 << 20; bytes <= 1 << 26; bytes *= 2) {
      const double seconds = slower * (20e-6 + bytes / 1e10);
      m.collectives.push_back({"wire",
                               {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                               {seconds, seconds, seconds},
                               "ddpx",
                               {}});
    }
  }
  Machine machine;
  FitReport report;
  fit_links(m, {}, machine, report);
  ASSERT_EQ(machine.links.size(), 1U);
  ASSERT_EQ(machine.links[0].curves.size(), 1U);
  EXPECT_NEAR(machine.links[0].curves[0].relative_error,
              std::log(1.1) / std::sqrt(2.0) * std::sqrt(1.5), 1e-9);
  const CollectivePrice price =
      ddpx::price(machine.links[0], {Collective::all_reduce, DType::fp32, Bytes(1 << 24), 2});
  EXPECT_NEAR(price.time.value(), 1.05 * (20e-6 + (1 << 24) / 1e10), 1e-5);
}

// 1 KiB in 10 us once and in 50 us another time is left out, and the other sizes, each measured
// once, are as sure as without it.
TEST(FitLinks, a_size_that_is_left_out_says_nothing_of_how_sure_the_others_are) {
  Measurements m;
  m.links.push_back({.name = "wire", .title = "", .source = ""});
  for (double bytes = 1 << 10; bytes <= 1 << 26; bytes *= 2)
    m.collectives.push_back({"wire",
                             {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                             {10e-6 + bytes / 20e9},
                             "nccl-tests",
                             {}});
  m.collectives.front().seconds.push_back(50e-6);
  Machine machine;
  FitReport report;
  fit_links(m, {}, machine, report);
  const Curve& curve = machine.links.at(0).curves.at(0);
  EXPECT_TRUE(curve.points().front().misfit);
  EXPECT_EQ(curve.relative_error, 0.015);
}

}  // namespace
}  // namespace ddpx
