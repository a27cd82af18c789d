// Whole steps of the native engine that a calibration needs: what the host takes for a step and
// for sharing it, seen where the device is idle; whether products keep their time inside a step;
// and what the clock is after half a minute without pause.
//
// None of them is a step that a forecast is judged on: shared steps are those of networks so small
// that their products take no time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/engine/device.hpp"
#include "profiler/measurement.hpp"
#include "profiler/plan.hpp"
#include "profiler/pulse.hpp"

namespace ddpx {

struct StepTask {
  StepSample sample;  // everything but its seconds
  Seconds time{};     // to spend on it
};

[[nodiscard]] std::vector<StepTask> step_tasks(Effort effort, int ranks);

// Idle time between kernels of steps without collectives and with, where the device tells.
// Collective.
void measure_gaps(engine::Device& device, Measurements& measurements, Pulse& pulse);

// Trains each task's network and adds it to the measurements, to the times of the same step where
// they have it. `before` is called with what comes
// next. Collective.
void train_steps(engine::Device& device, const std::vector<StepTask>& tasks,
                 Measurements& measurements, Pulse& pulse,
                 const std::function<void(std::size_t done, const std::string& next)>& before);

}  // namespace ddpx
