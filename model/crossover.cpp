#include "model/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/error.hpp"

namespace ddpx {
namespace {

// The interval's lower edge may be 0, whose logarithm is no number to interpolate with.
constexpr double kSmallestSpeedup = 1e-6;

double log_speedup(double speedup) { return std::log(std::max(speedup, kSmallestSpeedup)); }

// Where the line through (x0, y0) and (x1, y1), both logarithms, meets speedup 1.
double meet(double x0, double y0, double x1, double y1) {
  if (y0 == y1) return std::sqrt(x0 * x1);
  const double f = y0 / (y0 - y1);
  return x0 * std::pow(x1 / x0, f);
}

void check_points(std::span<const SweepPoint> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool ascending = points[i].x > (i == 0 ? 0.0 : points[i - 1].x);
    if (!ascending || !std::isfinite(points[i].x) || !(points[i].speedup.value > 0)) {
      throw InputError("sweep", "point " + std::to_string(i + 1) + " has size " +
                                    std::to_string(points[i].x) + " and speedup " +
                                    std::to_string(points[i].speedup.value) +
                                    "; sizes must ascend from above 0 and speedups be above 0");
    }
  }
}

bool undecided(const SweepPoint& p) { return p.speedup.low <= 1.0 && 1.0 <= p.speedup.high; }

// From an undecided point `from` to the decided `to`: where the interval's edge leaves 1.
double edge(const SweepPoint& from, const SweepPoint& to) {
  const auto of = [&](const SweepPoint& p) {
    return log_speedup(to.speedup.low > 1.0 ? p.speedup.low : p.speedup.high);
  };
  return meet(from.x, of(from), to.x, of(to));
}

// Sets the stretch around `x` in which 1 stays inside the interval; `last` and `next` are the
// indices of the sweep's points on either side of it.
void set_stretch(std::span<const SweepPoint> points, double x, std::size_t last, std::size_t next,
                 Crossing& crossing) {
  // The crossing itself as a point, its edges interpolated like its value.
  const SweepPoint& a = points[last];
  const SweepPoint& b = points[next];
  const double f = std::log(x / a.x) / std::log(b.x / a.x);
  const auto between = [&](double ya, double yb) {
    return std::exp((1 - f) * log_speedup(ya) + f * log_speedup(yb));
  };
  const SweepPoint middle{x,
                          {1.0, std::min(1.0, between(a.speedup.low, b.speedup.low)),
                           std::max(1.0, between(a.speedup.high, b.speedup.high))}};
  Interval& result = crossing.x = {x, points.front().x, points.back().x};
  crossing.low_beyond = crossing.high_beyond = true;
  SweepPoint inner = middle;
  for (std::size_t i = last + 1; i-- > 0;) {
    if (!undecided(points[i])) {
      result.low = edge(inner, points[i]);
      crossing.low_beyond = false;
      break;
    }
    inner = points[i];
  }
  inner = middle;
  for (std::size_t i = next; i < points.size(); ++i) {
    if (!undecided(points[i])) {
      result.high = edge(inner, points[i]);
      crossing.high_beyond = false;
      break;
    }
    inner = points[i];
  }
}

}  // namespace

std::string_view name(PaysSide side) { return side == PaysSide::below ? "below" : "above"; }

std::vector<Crossing> crossings(std::span<const SweepPoint> points) {
  check_points(points);
  std::vector<Crossing> found;
  std::optional<std::size_t> last;  // latest point whose speedup is not exactly 1
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double y = log_speedup(points[i].speedup.value);
    if (y == 0) continue;
    if (last) {
      const SweepPoint& before = points[*last];
      const double y0 = log_speedup(before.speedup.value);
      if ((y0 > 0) != (y > 0)) {
        // Points of exactly 1 in between are the crossing; of several, their middle.
        const double x = i == *last + 1 ? meet(before.x, y0, points[i].x, y)
                                        : std::sqrt(points[*last + 1].x * points[i - 1].x);
        Crossing crossing;
        crossing.bracket_low = before.x;
        crossing.bracket_high = points[i].x;
        crossing.pays = y0 > 0 ? PaysSide::below : PaysSide::above;
        std::size_t left = *last;
        std::size_t right = i;
        while (points[left + 1].x < x) ++left;
        while (points[right - 1].x > x) --right;
        set_stretch(points, x, left, right, crossing);
        found.push_back(crossing);
      }
    }
    last = i;
  }
  return found;
}

std::optional<double> break_even_batch(const std::function<double(double)>& speedup_at, double low,
                                       double high) {
  if (!(low > 0) || !(high >= low) || !std::isfinite(high)) {
    throw InputError("break-even batch", "the range " + std::to_string(low) + " to " +
                                             std::to_string(high) + " must ascend from above 0");
  }
  constexpr double kResolution = 1.0005;
  const auto pays = [&](double batch) { return speedup_at(batch) >= 1.0; };
  if (!pays(high)) return std::nullopt;
  // Down from the top: the answer holds for every larger batch of the grid.
  double good = high;
  while (good > low) {
    double bad = std::max(low, good / 2);
    if (pays(bad)) {
      good = bad;
      continue;
    }
    while (good / bad > kResolution) {
      const double middle = std::sqrt(good * bad);
      (pays(middle) ? good : bad) = middle;
    }
    return good;
  }
  return low;
}

}  // namespace ddpx
