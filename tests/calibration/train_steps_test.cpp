#include "calibration/train_steps.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/profiler/engine/mock_device.hpp"

namespace ddpx {
namespace {

std::string label(const StepSample& s) {
  return s.network + " " + std::to_string(s.micro_batches) + " " + std::to_string(s.gpus) + " " +
         describe(s.strategy);
}

TEST(TrainSteps, short_tasks_come_round_again_and_between_them_all_others) {
  std::vector<std::string> shorts;
  for (const StepTask& task : step_tasks(Effort::quick, 2)) {
    if (task.time < Seconds(0.5)) shorts.push_back(label(task.sample));
  }
  const std::set<std::string> kinds(shorts.begin(), shorts.end());
  ASSERT_EQ(shorts.size() % kinds.size(), 0U);
  EXPECT_GE(shorts.size() / kinds.size(), 3U);
  for (std::size_t i = kinds.size(); i < shorts.size(); ++i)
    EXPECT_EQ(shorts[i], shorts[i - kinds.size()]);
}

TEST(TrainSteps, times_of_one_step_are_one_sample) {
  engine::MockDevice device;
  StepTask task;
  task.sample.network = "mlp:width=8,depth=2";
  task.sample.batch = 4;
  task.sample.engine = Engine::native;
  task.time = Seconds(1000);
  StepTask other = task;
  other.sample.micro_batches = 2;
  Pulse pulse;
  Measurements once;
  train_steps(device, {task}, once, pulse, [](std::size_t, const std::string&) {});
  Measurements measurements;
  std::size_t begun = 0;
  train_steps(device, {task, other, task}, measurements, pulse,
              [&](std::size_t, const std::string&) { ++begun; });
  EXPECT_EQ(begun, 3U);
  ASSERT_EQ(measurements.steps.size(), 2U);
  EXPECT_EQ(measurements.steps[0].seconds.size(), 2 * once.steps.at(0).seconds.size());
  EXPECT_EQ(measurements.steps[1].micro_batches, 2);
}

}  // namespace
}  // namespace ddpx
