// What a step costs the host, and what sharing gradients adds, from steps of networks so small that
// nothing else takes as long.
#pragma once

#include <span>

#include "calibration/fit.hpp"
#include "calibration/timed_steps.hpp"

namespace ddpx {

// T = step + step_per_tensor x tensors (+ adamw_per_tensor x tensors) (+ autocast_per_tensor x
// tensors), of the generator's linear layers: a transformer's tensors have more operations each,
// and a captured model brings its own host time. PyTorch's autocast on GPUs is borrowed where no
// 16-bit step is there. A fresh process moves its host as far as rows lie from the line and samples
// from their medians. Taken of each engine from the `steps` that the host bounds; their residuals
// go into the report.
void fit_host(std::span<const TimedStep> steps, Machine& machine, FitReport& report);

// From host-bound steps alone (K = 1 and more) and on several ranks, by engine:
//   T(K) - K T(1)                = (K-1) extra
//   T(shared) - T(alone)         = sync + sync_per_tensor tensors + per_bucket buckets
//   T(with a hook) - T(shared)   = hook + hook_per_bucket buckets
//   T(FSDP, one unit) - T(alone) = fsdp
//   T(FSDP by block) - T(alone)  = fsdp_block + fsdp_launch (collectives - 2)
//                                  + fsdp_per_tensor tensors (+ fsdp_adamw_per_tensor tensors)
// by least squares on relative error, no cost below zero (least_squares.hpp); one standard error of
// each is that of the fit, 5 % at least.
// A shared step counts only beside the step of the same network alone. What there are no such steps
// of keeps its prior. machine.host must have been fitted (fit_host).
void fit_shared_host(const Measurements& measurements, Machine& machine, FitReport& report,
                     const FitOptions& options = {});

}  // namespace ddpx
