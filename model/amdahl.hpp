// Amdahl's law: S(N) = 1 / ((1 - p) + p / N), with ceiling 1 / (1 - p)  (Amdahl 1967).
#pragma once

#include <span>

#include "model/step.hpp"

namespace ddpx {

struct Amdahl {
  double parallel_fraction = 1;  // p
  double standard_error = 0;     // of p, when fitted

  [[nodiscard]] double speedup(double n) const;
  // 1/(1-p); infinite for p = 1.
  [[nodiscard]] double ceiling() const;
};

// p such that the law gives `speedup` on `n` GPUs; may be negative where adding GPUs slows
// training. n >= 2.
[[nodiscard]] Amdahl amdahl_through(double n, double speedup);

struct MeasuredSpeedup {
  double gpus = 1;
  double speedup = 1;
};

// p by least squares on 1/S, which is linear in p: 1/S - 1 = p (1/N - 1). At least one point with N
// > 1, else InputError.
[[nodiscard]] Amdahl fit_amdahl(std::span<const MeasuredSpeedup> points);

// Universal scalability law S(N) = N / (1 + sigma (N-1) + kappa N (N-1))  (Gunther 1993); at least
// two points with different N > 1.
struct Usl {
  double contention = 0;  // sigma
  double coherency = 0;   // kappa
  [[nodiscard]] double speedup(double n) const;
};
[[nodiscard]] Usl fit_usl(std::span<const MeasuredSpeedup> points);

}  // namespace ddpx
