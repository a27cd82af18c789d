// A forecast of round numbers: every term a different power of two of a millisecond.
#pragma once

#include "model/forecast.hpp"

namespace ddpx::test {

inline Forecast round_forecast() {
  Forecast f;
  for (std::size_t i = 0; i < kTerms; ++i) f.step.terms[i] = Seconds(0.001 * (1 << i));
  f.step.communication_busy = Seconds(0.5);
  f.one_gpu_step = f.step;
  f.one_gpu_step_s = 0.75;
  f.one_gpu_measured = true;
  f.step_time_s = {4.095, 4.0, 4.2};
  f.speedup = {1.5, 1.25, 1.75};
  f.samples_per_s = {500, 450, 550};
  f.verdict = Verdict::pays;
  f.buckets = 3;
  f.sensitivity[static_cast<std::size_t>(Source::link)] = 0.02;
  return f;
}

}  // namespace ddpx::test
