#include "profiler/engine/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/error.hpp"
#include "profiler/engine/trace.hpp"
#include "tests/profiler/engine/mock_device.hpp"
#include "tests/profiler/engine/training.hpp"

namespace ddpx::engine {
namespace {

class CountingPulse : public Pulse {
 public:
  void tick() override { ++ticks; }
  int ticks = 0;
};

TEST(Run, times_each_step_after_the_warm_up) {
  MockDevice device(2);
  CountingPulse pulse;
  const EngineRun run =
      run_engine(device, small_network(), native_job(2, 4), {.steps = 6, .warmup = 2}, pulse);
  ASSERT_EQ(run.step_times_s.size(), 6U);
  // The mock's clock counts calls, and steps are alike.
  EXPECT_THAT(run.step_times_s, testing::Each(run.step_times_s[0]));
  EXPECT_GT(run.step_times_s[0], 20);
  // Eight tensors are initialised, then two and six steps taken.
  EXPECT_EQ(pulse.ticks, 16);
  EXPECT_TRUE(run.timeline.spans.empty());
}

TEST(Run, a_budget_bounds_the_steps_and_three_are_run_whatever_they_take) {
  MockDevice device;
  Pulse pulse;
  const Job job = native_job(1, 4);
  const double step =
      run_engine(device, small_network(), job, {.steps = 1}, pulse).step_times_s.front();
  const auto steps_within = [&](double seconds) {
    return run_engine(device, small_network(), job, {.steps = 20, .budget = Seconds(seconds)},
                      pulse)
        .step_times_s.size();
  };
  EXPECT_EQ(steps_within(7.5 * step), 7U);
  EXPECT_EQ(steps_within(0.1 * step), 3U);
  EXPECT_EQ(steps_within(1e12 * step), 20U);
}

TEST(Run, trains_while_it_is_timed) {
  MockDevice device;
  Pulse pulse;
  const EngineRun run = run_engine(device, small_network(), native_job(1, 8),
                                   {.steps = 150, .warmup = 1, .learning_rate = 0.5F}, pulse);
  EXPECT_LT(run.last_loss, 0.9 * run.first_loss.value());
}

TEST(Run, a_timeline_has_the_spans_of_the_forecast_under_the_same_names) {
  MockDevice device(2);
  Pulse pulse;
  Strategy strategy;
  strategy.buckets = {Bytes(500), Bytes(2000)};
  strategy.micro_batches = 3;
  const EngineRun run = run_engine(device, small_network(), native_job(2, 4, strategy),
                                   {.steps = 1, .warmup = 0, .traced = true}, pulse);
  std::vector<std::string> names;
  for (const Span& span : run.timeline.spans) names.push_back(span.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"earlier micro-batches 2", "forward 0", "backward 3",
                                            "backward 0", "all-reduce 0", "all-reduce 1",
                                            "copy-out 0", "optimizer 0"}));
  EXPECT_FALSE(run.first_loss.has_value());
}

TEST(Run, the_share_of_communication_is_the_time_compute_waits) {
  Timeline timeline;
  timeline.spans = {{"backward 0", Stream::compute, Seconds(0), Seconds(6)},
                    {"all-reduce 0", Stream::communication, Seconds(4), Seconds(8)},
                    {"wait 0", Stream::compute, Seconds(6), Seconds(8)},
                    {"optimizer 0", Stream::compute, Seconds(8), Seconds(10)}};
  EXPECT_DOUBLE_EQ(communication_share(timeline), 0.2);
  EXPECT_EQ(communication_share(Timeline{}), 0);
}

TEST(Run, nonsense_is_refused) {
  MockDevice device;
  Pulse pulse;
  EXPECT_THROW(
      static_cast<void>(run_engine(device, small_network(), native_job(1, 4), {.steps = 0}, pulse)),
      InputError);
  EXPECT_THROW(static_cast<void>(
                   run_engine(device, small_network(), native_job(1, 4), {.warmup = -1}, pulse)),
               InputError);
}

TEST(Run, with_graphs_the_step_is_recorded_after_the_warm_up_and_replayed_as_often_as_asked) {
  MockDevice device;
  Pulse pulse;
  const EngineRun run = run_engine(device, small_network(), native_job(1, 4),
                                   {.steps = 4, .warmup = 2, .graphs = true}, pulse);
  EXPECT_EQ(run.step_times_s.size(), 4U);
  const auto recorded = std::find(device.log.begin(), device.log.end(), "recorded");
  const auto is_update = [](const std::string& call) { return call.starts_with("sgd"); };
  EXPECT_EQ(std::count_if(device.log.begin(), recorded, is_update), 2);
  EXPECT_EQ(std::count_if(recorded, device.log.end(), is_update), 5);  // one to set it up
  EXPECT_THROW(static_cast<void>(run_engine(device, small_network(), native_job(1, 4),
                                            {.warmup = 0, .graphs = true}, pulse)),
               InputError);
}

TEST(Run, a_loss_that_is_no_number_is_not_a_measurement) {
  MockDevice device;
  Pulse pulse;
  EXPECT_THROW(static_cast<void>(run_engine(device, small_network(), native_job(1, 4),
                                            {.steps = 40, .learning_rate = 1e30F}, pulse)),
               DeviceError);
}

}  // namespace
}  // namespace ddpx::engine
