#include "calibration/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calibration/fit_links.hpp"
#include "model/error.hpp"
#include "model/forecast.hpp"
#include "model/network_spec.hpp"

namespace ddpx {
namespace {

// The known machine behind the fake measurements.
constexpr double kForwardRate = 40e12;
constexpr double kBackwardRate = 45e12;
constexpr double kCopyBandwidth = 3e12;
constexpr double kOptimizerBandwidth = 2.5e12;
constexpr double kLatency = 12e-6;
constexpr double kBandwidth = 50e9;

class FakeSource {
 public:
  explicit FakeSource(unsigned seed, double noise = 0.01) : engine_(seed), noise_(noise) {}

  std::vector<double> samples(double truth, int n = 15) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(truth * (1 + noise_ * normal_(engine_)));
    return values;
  }

  Measurements measurements() {
    Measurements m;
    m.name = "fake";
    m.device.multiprocessors = 100;
    m.device.compute_capability = 90;
    m.links.push_back({"fast", "", Topology::nvlink, false, 8, 0, "fake"});
    for (double bytes = 4096; bytes <= 3e8; bytes *= 2) {
      const double time = kLatency + bytes / kBandwidth;
      m.collectives.push_back({"fast",
                               {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                               samples(time),
                               "queued"});
    }
    for (double width : {1024.0, 2048.0, 4096.0}) {
      for (Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const Product product{pass, DType::fp32, 256, width, width};
        const double rate = pass == Pass::forward ? kForwardRate : kBackwardRate;
        m.products.push_back({product, samples(product.flops().value() / rate),
                              KernelRecord{"k", 300, 256, 128, 0, false}});
      }
    }
    m.copies.push_back({Bytes(1e8), samples(2e8 / kCopyBandwidth)});
    m.optimizers.push_back({{Optimizer::sgd, 1e7}, samples(12e7 / kOptimizerBandwidth)});
    m.priors.push_back({"kernel_gap_s", 1e-6, 0.3, "test"});
    m.priors.push_back({"residual", 0.02, 0, "test"});
    return m;
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  double noise_;
};

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

TEST(FitMachine, WholeStepsGiveRatesHostCostAndDropWhatFollowsNeither) {
  // Rates as published for two T4: the wide steps follow the flops, the narrow ones the host, width
  // 1024 neither.
  Measurements m;
  m.name = "steps";
  m.device.multiprocessors = 40;
  m.links.push_back({"pcie", "", Topology::pcie, false, 2, 0, ""});
  for (double bytes = 1e6; bytes < 3e8; bytes *= 2) {
    m.collectives.push_back({"pcie",
                             {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                             {50e-6 + bytes / 4e9},
                             "x"});
  }
  m.priors = {{"copy_bandwidth_bytes_per_s", 250e9, 0.05, "t"},
              {"optimizer_bandwidth_bytes_per_s", 250e9, 0.05, "t"}};
  const std::vector<std::pair<int, double>> published{{256, 2.216e-3},   {512, 2.516e-3},
                                                      {1024, 4.589e-3},  {2048, 13.891e-3},
                                                      {4096, 54.146e-3}, {8192, 223.364e-3}};
  for (const auto& [width, seconds] : published) {
    StepSample s;
    s.network = "mlp:width=" + std::to_string(width) + ",depth=8";
    s.batch = 256;
    s.seconds = {seconds};
    m.steps.push_back(s);
  }
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  std::size_t dropped = 0;
  for (const Residual& r : report.residuals) {
    if (r.dropped && r.what.find("step") != std::string::npos) {
      ++dropped;
      EXPECT_NE(r.what.find("width=1024"), std::string::npos) << r.what;
    }
  }
  EXPECT_EQ(dropped, 1U);
  const HostCosts* host = machine.host_costs(Engine::torch);
  ASSERT_NE(host, nullptr);
  EXPECT_NEAR(host->step_per_tensor.value.value(), 0.5 * (2.216e-3 + 2.516e-3) / 18, 1e-9);
  for (int width : {2048, 4096, 8192}) {
    const Network network = network_from("mlp:width=" + std::to_string(width) + ",depth=8");
    Machine device = machine;
    device.host = {};
    const Link none;
    Job job;
    job.gpus = 1;
    const double step = StepModel(device, none, network, job).run().total().value();
    const double measured = width == 2048 ? 13.891e-3 : width == 4096 ? 54.146e-3 : 223.364e-3;
    EXPECT_NEAR(step, measured, 1e-3 * measured) << width;
  }
  EXPECT_EQ(machine.one_gpu_steps.size(), published.size());
}

TEST(FitMachine, HostBoundStepsOfSeveralDepthsGiveWhatOneCostsAndWhatItsTensorsDo) {
  constexpr double kStep = 600e-6;
  constexpr double kTensor = 75e-6;
  Measurements m = FakeSource(1, 0.0).measurements();
  for (const int depth : {5, 14, 36}) {
    StepSample s;
    s.network = "mlp:width=64,depth=" + std::to_string(depth);
    s.batch = 8;
    const double truth = kStep + kTensor * 2 * (depth + 1);
    s.seconds = {0.95 * truth, truth, 1.05 * truth};
    m.steps.push_back(s);
  }
  // A step that the device takes four fifths of is nobody's.
  StepSample mixed;
  mixed.network = "mlp:width=2048,depth=8";
  mixed.batch = 256;
  FitReport ignored;
  const Machine bare = fit_machine(m, {}, ignored);
  Machine device = bare;
  device.host = {};
  device.one_gpu_steps.clear();
  const Link none;
  Job job;
  job.gpus = 1;
  const Network network = network_from(mixed.network);
  mixed.seconds = {StepModel(device, none, network, job).run().total().value() / 0.82};
  m.steps.push_back(mixed);
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  const HostCosts* host = machine.host_costs(Engine::torch);
  ASSERT_TRUE(host && host->step);
  EXPECT_NEAR(host->step->value.value(), kStep, 1e-9);
  EXPECT_NEAR(host->step_per_tensor.value.value(), kTensor, 1e-9);
  EXPECT_NEAR(host->spread, std::max(0.08, 1.4826 * 0.05), 1e-9);
  const auto dropped =
      std::find_if(report.residuals.begin(), report.residuals.end(), [](const Residual& r) {
        return r.reason.find("neither the device nor") != std::string::npos;
      });
  ASSERT_NE(dropped, report.residuals.end());
  EXPECT_NE(dropped->what.find("width=2048"), std::string::npos);
}

TEST(FitMachine, SustainedStepsGiveTheFactorOnProductsAlone) {
  Measurements m = FakeSource(1, 0.0).measurements();
  const Network network = network_from("mlp:width=2048,depth=8");
  FitReport ignored;
  const Machine cold = fit_machine(m, {}, ignored);
  Job job;
  job.gpus = 1;
  job.strategy.micro_batches = 4;
  const Link none;
  const Step step = StepModel(cold, none, network, job).run();
  const double products = (step.term(Term::forward) + step.term(Term::backward)).value() * 4;
  StepSample hot;
  hot.network = "mlp:width=2048,depth=8";
  hot.batch = 256;
  hot.micro_batches = 4;
  hot.clocks = Clocks::sustained;
  hot.seconds = {step.total().value() + 0.2 * products};
  m.steps.push_back(hot);
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  ASSERT_TRUE(machine.sustained);
  EXPECT_NEAR(machine.sustained->value, 1.2, 1e-6);
}

TEST(FitMachine, TorchCallsBoundByTheHostAreLeftOut) {
  Measurements m = FakeSource(1).measurements();
  m.links.push_back({"slow", "", Topology::pcie, false, 4, 0, ""});
  for (double bytes = 4096; bytes <= 3e8; bytes *= 2) {
    const double time = std::max(40e-6, 10e-6 + bytes / 25e9);
    m.collectives.push_back({"slow",
                             {Collective::all_reduce, DType::fp32, Bytes(bytes), 2},
                             {time, time * 1.01},
                             "torch"});
  }
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  const Curve& curve = machine.find_link("slow")->curves.front();
  for (const CurvePoint& p : curve.points())
    EXPECT_EQ(p.misfit, p.bytes.value() < 1.1e6) << p.bytes.value();
  // What the host hid is read off the line: far below 40 us.
  EXPECT_LT(curve.at(Bytes(4096)).value(), 15e-6);
}

TEST(FitMachine, QueuedTimesReplaceTorchTimesOfTheSameSizes) {
  Measurements m = FakeSource(1, 0.0).measurements();
  for (double bytes : {4096.0, 8192.0, 1e9}) {
    m.collectives.push_back(
        {"fast", {Collective::all_reduce, DType::fp32, Bytes(bytes), 2}, {1.0}, "torch"});
  }
  FitReport report;
  const Machine machine = fit_machine(m, {}, report);
  const auto points = machine.links.front().curves.front().points();
  EXPECT_NEAR(points.front().time.value(), kLatency + 4096 / kBandwidth, 1e-9);
  EXPECT_EQ(points.back().bytes.value(), 1e9);
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

}  // namespace
}  // namespace ddpx
