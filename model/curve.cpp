#include "model/curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "model/error.hpp"

namespace ddpx {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.15g", value);
  return text.data();
}

bool positive(double value) { return value > 0 && std::isfinite(value); }

void check_point(const CurvePoint& point) {
  if (positive(point.bytes.value()) && positive(point.time.value())) return;
  throw InputError("collective curve", "a point of " + number(point.bytes.value()) + " bytes in " +
                                           number(point.time.value()) + " s; both must be above 0");
}

void check_line(const ProtocolLine& line) {
  if (line.latency.value.value() >= 0 && std::isfinite(line.latency.value.value()) &&
      line.bandwidth.value.value() > 0) {
    return;
  }
  throw InputError("collective curve",
                   "a protocol line of " + number(line.latency.value.value()) + " s and " +
                       number(line.bandwidth.value.value()) +
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
      throw InputError("collective curve", "has two points of " + number(point.bytes.value()) +
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
    const double b1 = std::exp(log_bytes_[n - 2]);
    const double b2 = std::exp(log_bytes_[n - 1]);
    const double t1 = std::exp(log_seconds_[n - 2]);
    const double t2 = std::exp(log_seconds_[n - 1]);
    // A falling last segment would extrapolate to ever shorter times: then keep the last point's
    // bandwidth.
    const double slope = t2 > t1 ? (t2 - t1) / (b2 - b1) : t2 / b2;
    return Seconds(t2 + slope * (bytes.value() - b2));
  }
  const auto upper = std::upper_bound(log_bytes_.begin(), log_bytes_.end(), x);
  const auto i = static_cast<std::size_t>(upper - log_bytes_.begin());
  const double f = (x - log_bytes_[i - 1]) / (log_bytes_[i] - log_bytes_[i - 1]);
  return Seconds(std::exp(log_seconds_[i - 1] + f * (log_seconds_[i] - log_seconds_[i - 1])));
}

bool Curve::extrapolates(Bytes bytes) const {
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

}  // namespace ddpx
