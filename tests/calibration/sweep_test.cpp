// The whole of calibrate on a machine whose truth is known: plan, measure, fit, and compare.
#include "calibration/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit.hpp"
#include "model/error.hpp"
#include "profiler/fake_backend.hpp"
#include "tests/support/known_machine.hpp"

namespace ddpx {
namespace {

using testing::Contains;
using testing::HasSubstr;

Measurements calibrated(FakeBackend& fake, const PlanOptions& options = {}) {
  const MeasurementPlan plan = make_plan(
      options, fake.hardware().ranks, [&](const Operation& o) { return fake.supports(o); },
      first_look(fake));
  Measurements measurements = opened(fake.hardware(), "fake");
  sweep(fake, plan, measurements);
  return measurements;
}

Machine fitted(const Measurements& measurements) {
  FitReport report;
  return fit_machine(measurements, {}, report);
}

// Standard errors that `estimate` is away from the truth, the error taken as no less than half a
// per cent.
template <class Q>
double errors_off(const Estimate<Q>& estimate, double truth) {
  double value = 0;
  if constexpr (std::is_same_v<Q, double>) {
    value = estimate.value;
  } else {
    value = estimate.value.value();
  }
  return std::abs(value / truth - 1) / std::max(estimate.relative_error, 0.005);
}

// Keeps records of what it runs: those of a kernel without the gap to the next, up to `records`.
class RecordingBackend : public FakeBackend {
 public:
  RecordingBackend(Machine machine, int records)
      : FakeBackend(std::move(machine), "wire", 2, {.noise = 0.001}), records_(records) {}

  [[nodiscard]] std::optional<RecordedProduct> record(const Product& product) override {
    if (records_-- <= 0) return std::nullopt;
    const double seconds = truth(product).value();
    return RecordedProduct{KernelRecord{"sgemm_128x128", 64, 256, 128, 0, false},
                           {seconds, seconds}};
  }

 private:
  int records_;
};

TEST(Sweep, records_what_it_does_not_time_and_the_fit_takes_it) {
  Machine truth = test::known_machine();
  truth.device.multiprocessors = 100;
  truth.device.compute_capability = 80;
  for (const int records : {100'000, 30, 0}) {
    RecordingBackend fake(truth, records);
    const Measurements measurements =
        calibrated(fake, {.budget = Seconds(1e9), .dtypes = {DType::fp32}, .gpus = true});
    std::size_t only = 0;
    std::size_t both = 0;
    for (const ProductSample& sample : measurements.products) {
      EXPECT_FALSE(sample.seconds.empty() && sample.recorded_seconds.empty());
      if (sample.recorded_seconds.empty()) continue;
      ++(sample.seconds.empty() ? only : both);
    }
    EXPECT_EQ(only > 0, records > 30);
    EXPECT_EQ(both > 0, records > 0);
    const Machine machine = fitted(measurements);
    EXPECT_EQ(machine.products.size(), measurements.products.size());
    for (const ProductPoint& point : machine.products)
      EXPECT_NEAR(point.time.value / fake.truth(point.product), 1, 0.02);
  }
}

class KnownMachine : public testing::TestWithParam<unsigned> {};

TEST_P(KnownMachine, is_recovered_within_three_standard_errors) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0.02, .seed = GetParam()});
  const Machine machine = fitted(calibrated(fake));
  EXPECT_LT(errors_off(machine.copy_bandwidth, 8e9), 3);
  EXPECT_LT(errors_off(machine.optimizer_bandwidth, 6e9), 3);
  ASSERT_TRUE(machine.adamw_bandwidth);
  EXPECT_LT(errors_off(*machine.adamw_bandwidth, 4e9), 3);
  EXPECT_LT(errors_off(machine.kernel_gap, 2e-7), 3);
  ASSERT_FALSE(machine.products.empty());
  // Errors are estimated from a handful of samples each: together they are right, one may be far
  // off.
  double squares = 0;
  for (const ProductPoint& point : machine.products) {
    const double off = errors_off(point.time, point.product.flops().value() / 40e9);
    EXPECT_LT(off, 7);
    squares += off * off;
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(machine.products.size())), 2);
  const Link* wire = machine.find_link("wire");
  ASSERT_NE(wire, nullptr);
  for (Collective kind :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    for (double bytes : {4096.0, 1e5, 1e6, 3e7}) {
      const CollectivePrice found = price(*wire, {kind, DType::fp32, Bytes(bytes), 2});
      EXPECT_NEAR(found.time.value(), 20e-6 + bytes / 2e9, 0.05 * found.time.value());
    }
  }
  EXPECT_LT(errors_off(wire->burst, 200e-6), 3);
  EXPECT_LT(errors_off(wire->beside_compute, 1.1), 3);
  ASSERT_TRUE(wire->shared_core);
  EXPECT_LT(errors_off(wire->shared_core->seconds_per_byte, 2e-10), 3);
  EXPECT_LT(errors_off(wire->shared_core->delay, 100e-6), 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KnownMachine, testing::Range(1U, 9U));

TEST(Sweep, a_quiet_fake_gets_no_remark) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0.01});
  EXPECT_THAT(calibrated(fake).notes, testing::IsEmpty());
}

TEST(Sweep, a_link_that_saves_nothing_up_gets_no_burst) {
  Machine truth = test::known_machine();
  truth.links.front().burst = {};
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    FakeBackend fake(truth, "wire", 2, {.noise = 0.03, .seed = seed});
    EXPECT_EQ(fitted(calibrated(fake)).find_link("wire")->burst.value, Seconds{});
  }
}

TEST(Sweep, what_was_disturbed_is_measured_again_later) {
  FakeBackend fake(test::known_machine(), "wire", 2,
                   {.noise = 0.01, .disturbed_factor = 3, .disturbed_visits = 0.3});
  const Machine machine = fitted(calibrated(fake));
  std::size_t off = 0;
  for (const ProductPoint& point : machine.products)
    off += std::abs(point.time.value.value() / (point.product.flops().value() / 40e9) - 1) > 0.1;
  EXPECT_LT(off, machine.products.size() / 20);
}

TEST(Sweep, a_noisy_fake_is_noticed_and_said) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0.5});
  EXPECT_THAT(calibrated(fake).notes, Contains(HasSubstr("noisy")));
}

TEST(Sweep, a_drifting_fake_is_noticed_and_said) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.noise = 0.02, .drift_per_sample = 0.01});
  EXPECT_THAT(calibrated(fake).notes, Contains(HasSubstr("drifts: +")));
}

TEST(Sweep, a_throttled_fake_is_noticed_and_the_slow_samples_are_kept_apart_with_the_reason) {
  FakeBackend fake(test::known_machine(), "wire", 2,
                   {.noise = 0.03, .throttle_after = 10, .throttle_factor = 1.4});
  const Measurements measurements = calibrated(fake, {.effort = Effort::full});
  EXPECT_THAT(measurements.notes, Contains(HasSubstr("throttled")));
  std::size_t apart = 0;
  for (const ProductSample& sample : measurements.products) {
    for (const DroppedSample& dropped : sample.dropped)
      apart += dropped.reason.find("throttled") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(apart, 0U);
}

TEST(Sweep, disturbed_samples_are_kept_apart_and_do_not_move_the_fit) {
  FakeBackend fake(test::known_machine(), "wire", 2,
                   {.noise = 0.01, .disturbed_share = 0.1, .disturbed_factor = 8});
  const Measurements measurements = calibrated(fake);
  std::size_t apart = 0;
  for (const ProductSample& sample : measurements.products) apart += sample.dropped.size();
  EXPECT_GT(apart, 0U);
  EXPECT_LT(errors_off(fitted(measurements).copy_bandwidth, 8e9), 3);
}

TEST(Sweep, a_device_that_slows_over_the_calibration_is_noticed_and_said) {
  FakeBackend fake(test::known_machine(), "wire", 2,
                   {.noise = 0.01, .ageing_per_operation = 0.001});
  EXPECT_THAT(calibrated(fake).notes, Contains(HasSubstr("did not keep its speed")));
}

TEST(Sweep, finished_measurements_are_shown_before_every_task_and_at_the_end) {
  FakeBackend fake(test::known_machine(), "wire", 2);
  const MeasurementPlan plan = make_plan(
      {}, 2, [&](const Operation& o) { return fake.supports(o); }, usual_rates());
  std::vector<SweepProgress> seen;
  std::size_t products = 0;
  SweepHooks hooks;
  hooks.before = [&](const SweepProgress& progress, const Measurements& so_far) {
    seen.push_back(progress);
    products = so_far.products.size();
  };
  Measurements measurements = opened(fake.hardware(), "fake");
  sweep(fake, plan, measurements, hooks);
  ASSERT_EQ(seen.size(), plan.tasks.size() + 1);
  EXPECT_EQ(seen.front().done, 0U);
  EXPECT_EQ(seen.back().done, plan.tasks.size());
  EXPECT_EQ(seen.back().operation, "");
  EXPECT_GT(seen.front().left, seen.back().left);
  EXPECT_EQ(products, measurements.products.size());
}

TEST(Sweep, what_was_finished_before_a_failure_is_there) {
  FakeBackend fake(test::known_machine(), "wire", 2, {.fails_at_operation = 30});
  const MeasurementPlan plan = make_plan(
      {}, 2, [&](const Operation& o) { return fake.supports(o); }, usual_rates());
  Measurements measurements = opened(fake.hardware(), "fake");
  EXPECT_THROW(sweep(fake, plan, measurements), DeviceError);
  EXPECT_GT(measurements.products.size() + measurements.collectives.size(), 10U);
}

TEST(Sweep, operations_that_take_longer_than_planned_end_it_at_the_budget_and_it_is_said) {
  FakeBackend fake(test::known_machine(), "wire", 2);
  Rates optimistic = usual_rates();
  optimistic.products = FlopsPerSecond(1e15);
  optimistic.bus = BytesPerSecond(1e15);
  PlanOptions options;
  options.effort = Effort::full;
  options.budget = Seconds(25);
  const MeasurementPlan plan = make_plan(
      options, 2, [&](const Operation& o) { return fake.supports(o); }, optimistic);
  Measurements measurements = opened(fake.hardware(), "fake");
  sweep(fake, plan, measurements);
  EXPECT_THAT(measurements.notes, Contains(HasSubstr("the budget was used up")));
}

// A GPU of the fake kind, whose communication library says how it runs collectives.
class ReportingFake : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;
  [[nodiscard]] std::vector<std::optional<CollectiveRun>> reported(
      const std::vector<CollectiveCall>& calls) override {
    std::vector<std::optional<CollectiveRun>> runs;
    for (const CollectiveCall& call : calls) {
      runs.emplace_back();
      if (call.kind == Collective::all_reduce)
        runs.back() = call.bytes < kMiB ? CollectiveRun{"RING", "LL", 2}
                                        : CollectiveRun{"RING", "SIMPLE", 24};
    }
    return runs;
  }
};

Machine known_gpu() {
  Machine machine = test::known_machine();
  machine.device.multiprocessors = 100;
  machine.forward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(5e9), 0, ""};
  machine.backward_bandwidth = Estimate<BytesPerSecond>{BytesPerSecond(3e9), 0, ""};
  return machine;
}

TEST(Sweep,
     what_the_library_reports_stands_beside_each_size_and_gives_channels_where_none_are_known) {
  ReportingFake fake(known_gpu(), "wire", 2);
  const Measurements measurements = calibrated(fake);
  for (const CollectiveSample& sample : measurements.collectives) {
    ASSERT_EQ(sample.reported.has_value(), sample.call.kind == Collective::all_reduce);
    if (!sample.reported) continue;
    EXPECT_EQ(sample.reported->protocol, sample.call.bytes < kMiB ? "LL" : "SIMPLE");
  }
  EXPECT_EQ(measurements.links.at(0).channels, 24);
}

TEST(Sweep, kernels_between_products_are_measured_and_found_again_by_the_fit) {
  FakeBackend fake(known_gpu(), "wire", 2, {.noise = 0.01});
  PlanOptions options;
  options.gpus = true;
  options.budget = Seconds(1e4);
  const Measurements measurements = calibrated(fake, options);
  EXPECT_GE(measurements.elementwise.size(), 9U);
  const Machine machine = fitted(measurements);
  ASSERT_TRUE(machine.forward_bandwidth);
  ASSERT_TRUE(machine.backward_bandwidth);
  EXPECT_LT(errors_off(*machine.forward_bandwidth, 5e9), 3);
  EXPECT_LT(errors_off(*machine.backward_bandwidth, 3e9), 3);
}

TEST(Sweep, copies_beside_collectives_have_both_slowdowns) {
  FakeBackend fake(known_gpu(), "wire", 2, {.noise = 0.01});
  PlanOptions options;
  options.gpus = true;
  options.budget = Seconds(1e4);
  const Measurements measurements = calibrated(fake, options);
  ASSERT_FALSE(measurements.copy_besides.empty());
  const CopyBesideSample& sample = measurements.copy_besides.front();
  EXPECT_EQ(sample.link, "wire");
  EXPECT_NEAR(sample.copy_alone_seconds.at(0), 2 * sample.copy.bytes.value() / 8e9,
              0.1 * sample.copy_alone_seconds[0]);
  EXPECT_GT(sample.collective_beside_seconds.at(0), sample.collective_alone_seconds.at(0));
}

}  // namespace
}  // namespace ddpx
