#include "model/curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

// Of the local line: points on either side of a gap, and the most of the rise between two points
// that is taken of it.
constexpr std::size_t kEachSide = 3;
constexpr double kMostLean = 0.5;
// Of the smallest message's time, what its bytes may take for the rest to be a latency.
constexpr double kMostMoving = 0.5;

bool positive(double value) { return value > 0 && std::isfinite(value); }

void check_point(const CurvePoint& point) {
  if (positive(point.bytes.value()) && positive(point.time.value())) return;
  throw InputError("collective curve", "a point of " + shown(point.bytes.value()) + " bytes in " +
                                           shown(point.time.value()) + " s; both must be above 0");
}

void check_line(const ProtocolLine& line) {
  if (line.latency.value.value() >= 0 && std::isfinite(line.latency.value.value()) &&
      line.bandwidth.value.value() > 0) {
    return;
  }
  throw InputError("collective curve",
                   "a protocol line of " + shown(line.latency.value.value()) + " s and " +
                       shown(line.bandwidth.value.value()) +
                       " B/s; the latency must be at least 0 and the bandwidth above 0");
}

}  // namespace

Curve::Curve(CollectiveCall call, std::vector<ProtocolLine> lines, std::vector<CurvePoint> points)
    : kind(call.kind),
      dtype(call.dtype),
      ranks(call.ranks),
      lines_(std::move(lines)),
      points_(std::move(points)) {
  if (lines_.empty() && points_.empty()) {
    throw InputError("collective curve", "needs at least one protocol line or one measured point");
  }
  for (const ProtocolLine& line : lines_) check_line(line);
  for (const CurvePoint& point : points_) check_point(point);
  std::sort(points_.begin(), points_.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
  for (const CurvePoint& point : points_) {
    if (point.misfit) continue;
    if (!log_bytes_.empty() && std::log(point.bytes.value()) <= log_bytes_.back()) {
      throw InputError("collective curve", "has two points of " + shown(point.bytes.value()) +
                                               " bytes; keep one and mark the others as misfits");
    }
    log_bytes_.push_back(std::log(point.bytes.value()));
    log_seconds_.push_back(std::log(point.time.value()));
  }
  if (lines_.empty() && log_bytes_.empty()) {
    throw InputError("collective curve", "every measured point is marked as a misfit");
  }
}

Seconds Curve::from_lines(Bytes bytes) const {
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const ProtocolLine& line : lines_) best = std::min(best, line.at(bytes));
  return best;
}

Seconds Curve::at(Bytes bytes) const {
  const std::size_t n = log_bytes_.size();
  if (n < kDensePoints && !lines_.empty()) return from_lines(bytes);
  if (n == 1)
    return Seconds(std::exp(log_seconds_.front()) *
                   std::max(1.0, bytes.value() / std::exp(log_bytes_.front())));
  const double x = std::log(std::max(bytes.value(), 1.0));
  if (x <= log_bytes_.front()) {
    const Seconds first(std::exp(log_seconds_.front()));
    return lines_.empty() ? first : std::min(first, from_lines(bytes));
  }
  if (x >= log_bytes_.back()) {
    const double last_bytes = std::exp(log_bytes_[n - 1]);
    const double last = std::exp(log_seconds_[n - 1]);
    // A falling end would extrapolate to ever shorter times: then keep the last point's bandwidth.
    const double local = local_line(log_bytes_.back(), n - 1).slope;
    const double slope = local > 0 ? local : last / last_bytes;
    return Seconds(last + slope * (bytes.value() - last_bytes));
  }
  const auto upper = std::upper_bound(log_bytes_.begin(), log_bytes_.end(), x);
  const auto i = static_cast<std::size_t>(upper - log_bytes_.begin());
  const double f = (x - log_bytes_[i - 1]) / (log_bytes_[i] - log_bytes_[i - 1]);
  const double rise = log_seconds_[i] - log_seconds_[i - 1];
  const double straight = log_seconds_[i - 1] + f * rise;
  if (n < kDensePoints) return Seconds(std::exp(straight));
  const LocalLine line = local_line(x, i);
  const double local = line.latency + line.slope * std::exp(x);
  if (local <= 0) return Seconds(std::exp(straight));
  // Nothing at a point, all of it half-way, and never past the neighbours, so that the time does
  // not fall where theirs do not.
  const double most = kMostLean * std::abs(rise);
  const double leaning = std::clamp(lean * (std::log(local) - straight), -most, most);
  const auto [low, high] = std::minmax(log_seconds_[i - 1], log_seconds_[i]);
  return Seconds(std::exp(std::clamp(straight + 4 * f * (1 - f) * leaning, low, high)));
}

Curve::LocalLine Curve::local_line(double log_bytes, std::size_t gap) const {
  const std::size_t first = gap < kEachSide ? 0 : gap - kEachSide;
  const std::size_t end = std::min(log_bytes_.size(), gap + kEachSide);
  const double scale = std::exp(log_bytes);
  // Normal equations of sum w^2 (latency + slope s - t)^2 / t^2.
  double one = 0;
  double s1 = 0;
  double s2 = 0;
  double t0 = 0;
  double t1 = 0;
  for (std::size_t i = first; i < end; ++i) {
    const double t = std::exp(log_seconds_[i]);
    const double s = std::exp(log_bytes_[i]) / scale;
    const double w = std::exp(-2 * std::abs(log_bytes_[i] - log_bytes) / reach) / (t * t);
    one += w;
    s1 += w * s;
    s2 += w * s * s;
    t0 += w * t;
    t1 += w * s * t;
  }
  const double determinant = one * s2 - s1 * s1;
  if (!(determinant > 0)) return {};
  return {(t0 * s2 - t1 * s1) / determinant, (one * t1 - s1 * t0) / determinant / scale};
}

double Curve::error_at(Bytes bytes) const {
  if (!latency_error) return relative_error;
  const double share = std::min(1.0, smallest_time() / at(bytes));
  return std::hypot(share * *latency_error, (1 - share) * relative_error);
}

bool Curve::extrapolates(Bytes bytes) const {
  if (carried) return true;
  if (points_.empty()) return false;
  return bytes < 0.999 * points_.front().bytes || bytes > 1.001 * points_.back().bytes;
}

BytesPerSecond Curve::peak_bus_bandwidth() const {
  const double factor = bus_factor(kind, ranks);
  BytesPerSecond best{};
  for (const CurvePoint& point : points_) {
    if (!point.misfit) best = std::max(best, point.bytes / point.time * factor);
  }
  if (best.value() > 0) return best;
  for (const ProtocolLine& line : lines_) best = std::max(best, line.bandwidth.value * factor);
  return best;
}

Seconds Curve::smallest_time() const {
  return points_.empty() ? from_lines(Bytes{}) : at(points_.front().bytes);
}

Bytes Curve::largest() const {
  Bytes most{};
  for (const CurvePoint& point : points_) {
    if (!point.misfit) most = std::max(most, point.bytes);
  }
  return most;
}

bool Curve::shows_bandwidth() const {
  // On a slow network smaller ones show it too: where one takes this many times the smallest's
  // time, nine tenths of that are the transfer.
  constexpr double kTransfers = 10;
  const Bytes most = largest();
  return most == Bytes{} || most >= kShowsBandwidth || at(most) >= smallest_time() * kTransfers;
}

std::optional<Seconds> Curve::latency() const {
  const Seconds smallest = smallest_time();
  if (log_bytes_.empty() || !shows_bandwidth()) return smallest;
  const Bytes bytes = points_.front().bytes;
  const BytesPerSecond rate = peak_bus_bandwidth() / bus_factor(kind, ranks);
  if (!(bytes / rate < kMostMoving * smallest)) return std::nullopt;
  return smallest - bytes / rate;
}

bool Curve::shows_latency() const {
  if (points_.empty() || points_.back().misfit) return latency().has_value();
  // Its rate is at most the best one, by which the smallest's bytes take no longer.
  const Seconds moving = points_.front().bytes / points_.back().bytes * points_.back().time;
  return moving < kMostMoving * smallest_time() || latency().has_value();
}

}  // namespace ddpx
