#include "calibration/two_slopes.hpp"

#include <algorithm>

namespace ddpx {

TwoSlopes two_slopes(std::span<const SlopeRow> rows) {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double ay = 0;
  double by = 0;
  for (const SlopeRow& row : rows) {
    const double a = row.first / row.scale;
    const double b = row.second / row.scale;
    const double y = row.value / row.scale;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a * y;
    by += b * y;
  }
  const auto alone = [](double xy, double xx) { return xx > 0 ? std::max(0.0, xy / xx) : 0.0; };
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-6 * aa * bb) {
    const TwoSlopes both{(ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant};
    if (both.first >= 0 && both.second >= 0) return both;
    if (both.first < 0) return {0, alone(by, bb)};
  }
  return {alone(ay, aa), 0};
}

}  // namespace ddpx
