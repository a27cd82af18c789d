#include "profiler/screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ddpx {
namespace {

constexpr double kMadToDeviation = 1.4826;  // of a normal distribution
constexpr double kMedianEfficiency =
    1.2533;  // sqrt(pi/2): the median's standard error over the mean's
// A sample is disturbed beyond this many deviations from the median, if it is also this share of it
// away: timings that repeat to the clock's tick have next to no deviation.
constexpr double kFarDeviations = 6;
constexpr double kFarShare = 0.10;
// A change of speed counts from this share of the time and this many of its standard errors on. The
// change point with the best fit is looked for, which makes chance look like a change; hence more
// than the usual 3.
constexpr double kChangeShare = 0.03;
constexpr double kChangeErrors = 5;
constexpr std::size_t kFewestPerSide = 4;

double deviation(std::span<const double> values, double middle) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double v : values) distances.push_back(std::abs(v - middle));
  return kMadToDeviation * median(distances);
}

double far_from(std::span<const double> values, double middle) {
  return std::max(kFarDeviations * deviation(values, middle), kFarShare * middle);
}

void drop_disturbed(std::span<const double> seconds, Screened& screened) {
  const double middle = median(seconds);
  const double far = far_from(seconds, middle);
  for (double s : seconds) {
    if (std::abs(s - middle) <= far) {
      screened.kept.push_back(s);
      continue;
    }
    char reason[64];
    std::snprintf(reason, sizeof reason, "disturbed: %.2f times the median", s / middle);
    screened.dropped.push_back({s, reason});
  }
}

double squares(std::span<const double> values, double mean) {
  double sum = 0;
  for (double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

struct Change {
  double residual = 0;  // sum of squares that it leaves
  double size = 0;      // change over the whole measurement, seconds
  double error = 0;     // its standard error
  std::size_t at = 0;   // first sample after a step
};

// One step, at the place that leaves the least.
Change best_step(std::span<const double> values) {
  Change best;
  bool any = false;
  for (std::size_t at = kFewestPerSide; at + kFewestPerSide <= values.size(); ++at) {
    const auto before = values.first(at);
    const auto after = values.subspan(at);
    const double mean_before = mean_of(before);
    const double mean_after = mean_of(after);
    const double residual = squares(before, mean_before) + squares(after, mean_after);
    if (any && residual >= best.residual) continue;
    any = true;
    const double variance = residual / static_cast<double>(values.size() - 2);
    best = {residual, mean_after - mean_before,
            std::sqrt(variance * (1.0 / static_cast<double>(before.size()) +
                                  1.0 / static_cast<double>(after.size()))),
            at};
  }
  return best;
}

Change best_line(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double centre = (n - 1) / 2;
  const double mean = mean_of(values);
  double xy = 0;
  double xx = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - centre;
    xy += x * (values[i] - mean);
    xx += x * x;
  }
  const double slope = xy / xx;
  const double residual = squares(values, mean) - slope * xy;
  return {residual, slope * (n - 1), std::sqrt(std::max(0.0, residual) / (n - 2) / xx) * (n - 1),
          0};
}

bool matters(const Change& change, double middle) {
  return std::abs(change.size) > kChangeShare * middle &&
         std::abs(change.size) > kChangeErrors * change.error;
}

std::string percent(const char* format, double share) {
  char text[96];
  std::snprintf(text, sizeof text, format, 100 * share);
  return text;
}

// Drops the slower side of a step; says a drift.
void judge_change(Screened& screened) {
  if (screened.kept.size() < 2 * kFewestPerSide) return;
  const std::span<const double> kept = screened.kept;
  const double middle = median(kept);
  const Change step = best_step(kept);
  const Change line = best_line(kept);
  if (!matters(step, middle) && !matters(line, middle)) return;
  if (line.residual < step.residual) {
    screened.remark = percent("drifts: %+.0f %% from first to last sample", line.size / middle);
    return;
  }
  const bool slower_later = step.size > 0;
  const double share =
      std::abs(step.size) / mean_of(slower_later ? kept.first(step.at) : kept.subspan(step.at));
  screened.remark =
      slower_later
          ? percent("throttled: later samples take %.0f %% longer and are left out", share)
          : percent("warmed up: earlier samples take %.0f %% longer and are left out", share);
  const std::string reason = percent(slower_later ? "throttled: %.0f %% slower than before"
                                                  : "warming up: %.0f %% slower than later",
                                     share);
  std::vector<double> good;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if ((i >= step.at) == slower_later) {
      screened.dropped.push_back({kept[i], reason});
    } else {
      good.push_back(kept[i]);
    }
  }
  screened.kept = std::move(good);
}

}  // namespace

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double relative_error_of_median(std::span<const double> seconds) {
  const double middle = median(seconds);
  const double far = far_from(seconds, middle);
  double sum = 0;
  double count = 0;
  for (double s : seconds) {
    if (std::abs(s - middle) > far) continue;
    sum += (s - middle) * (s - middle);
    ++count;
  }
  if (count < 2) return 0;
  return kMedianEfficiency * std::sqrt(sum / (count - 1) / count) / middle;
}

Screened screen(std::span<const double> seconds) {
  Screened screened;
  if (seconds.empty()) return screened;
  drop_disturbed(seconds, screened);
  judge_change(screened);
  return screened;
}

}  // namespace ddpx
