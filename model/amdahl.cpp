#include "model/amdahl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "model/error.hpp"

namespace ddpx {
namespace {

void check_speedup(const MeasuredSpeedup& point) {
  if (point.gpus >= 1 && std::isfinite(point.gpus) && point.speedup > 0 &&
      std::isfinite(point.speedup)) {
    return;
  }
  throw InputError("measured speedup",
                   "t" + std::to_string(point.gpus) + "=" + std::to_string(point.speedup) +
                       " needs a GPU count of at least 1 and a speedup above 0");
}

// Two-column least squares without Eigen: y = a x1 + b x2.
struct Normal {
  double x11 = 0, x12 = 0, x22 = 0, y1 = 0, y2 = 0;
  void add(double x1, double x2, double y) {
    x11 += x1 * x1;
    x12 += x1 * x2;
    x22 += x2 * x2;
    y1 += x1 * y;
    y2 += x2 * y;
  }
};

}  // namespace

double Amdahl::speedup(double n) const {
  return 1.0 / ((1.0 - parallel_fraction) + parallel_fraction / n);
}

double Amdahl::ceiling() const {
  if (parallel_fraction >= 1) return std::numeric_limits<double>::infinity();
  return 1.0 / (1.0 - parallel_fraction);
}

Amdahl amdahl_through(double n, double speedup) {
  check_speedup({n, speedup});
  if (n < 2) throw InputError("Amdahl's law", "needs a speedup on at least 2 GPUs");
  return {(1.0 - 1.0 / speedup) / (1.0 - 1.0 / n), 0};
}

Amdahl fit_amdahl(std::span<const MeasuredSpeedup> points) {
  double xx = 0;
  double xy = 0;
  int count = 0;
  for (const MeasuredSpeedup& point : points) {
    check_speedup(point);
    const double x = 1.0 / point.gpus - 1.0;
    xx += x * x;
    xy += x * (1.0 / point.speedup - 1.0);
    if (point.gpus > 1) ++count;
  }
  if (count == 0) throw InputError("Amdahl's law", "needs a measured speedup on more than 1 GPU");
  Amdahl law{xy / xx, 0};
  if (count < 2) return law;
  double squares = 0;
  for (const MeasuredSpeedup& point : points) {
    if (point.gpus <= 1) continue;
    const double residual = 1.0 / point.speedup - 1.0 / law.speedup(point.gpus);
    squares += residual * residual;
  }
  law.standard_error = std::sqrt(squares / (count - 1) / xx);
  return law;
}

double Usl::speedup(double n) const {
  return n / (1.0 + contention * (n - 1) + coherency * n * (n - 1));
}

Usl fit_usl(std::span<const MeasuredSpeedup> points) {
  // Least squares on 1/S = 1/N + sigma (N-1)/N + kappa (N-1), so that every point counts by its
  // relative error much as in fit_amdahl. Neither coefficient may be negative: the law would then
  // promise more than N, or infinity at some count.
  Normal normal;
  double first = 1;
  bool two_counts = false;
  for (const MeasuredSpeedup& point : points) {
    check_speedup(point);
    if (point.gpus <= 1) continue;
    if (first > 1 && point.gpus != first) two_counts = true;
    first = point.gpus;
    normal.add((point.gpus - 1) / point.gpus, point.gpus - 1, 1 / point.speedup - 1 / point.gpus);
  }
  if (!two_counts) {
    throw InputError("universal scalability law",
                     "needs measured speedups on two different GPU counts above 1");
  }
  const double determinant = normal.x11 * normal.x22 - normal.x12 * normal.x12;
  Usl law{(normal.y1 * normal.x22 - normal.y2 * normal.x12) / determinant,
          (normal.x11 * normal.y2 - normal.x12 * normal.y1) / determinant};
  if (law.contention >= 0 && law.coherency >= 0) return law;
  // The best point of the quadrant then lies on one of its edges.
  const double gain1 = std::max(0.0, normal.y1) * std::max(0.0, normal.y1) / normal.x11;
  const double gain2 = std::max(0.0, normal.y2) * std::max(0.0, normal.y2) / normal.x22;
  if (gain1 >= gain2) return {std::max(0.0, normal.y1 / normal.x11), 0};
  return {0, std::max(0.0, normal.y2 / normal.x22)};
}

}  // namespace ddpx
