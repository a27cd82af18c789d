// What whole steps, the host's calls and queued times add to a machine that is fitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit.hpp"
#include "model/network_spec.hpp"
#include "model/step.hpp"
#include "tests/calibration/fake_source.hpp"

namespace ddpx {
namespace {

using test::FakeSource;
using test::kBandwidth;
using test::kLatency;

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

}  // namespace
}  // namespace ddpx
