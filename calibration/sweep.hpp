// Carries out a plan on a backend and keeps what comes out as raw measurements. Runs alike on every
// rank.
#pragma once

#include <functional>
#include <string>

#include "profiler/plan.hpp"

namespace ddpx {

struct SweepProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  Seconds left{};         // estimate for what remains
  std::string operation;  // that comes next; empty at the end
};

struct SweepHooks {
  // Before every task and once at the end; the measurements so far are complete in themselves.
  std::function<void(const SweepProgress&, const Measurements&)> before = [](const auto&,
                                                                             const auto&) {};
};

// Empty measurements that say what the backend is.
[[nodiscard]] Measurements opened(const Hardware& hardware, const std::string& name);

// Adds everything the plan names. Operations that turn out to take much longer than planned end it
// early once the plan's budget is used up, and a note says how many were left.
void sweep(Backend& backend, const MeasurementPlan& plan, Measurements& measurements,
           const SweepHooks& hooks = {});

}  // namespace ddpx
