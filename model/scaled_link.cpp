#include "model/scaled_link.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "model/error.hpp"

namespace ddpx {
namespace {

void check_factor(const Link& link, double factor) {
  if (!(factor > 0) || !std::isfinite(factor))
    throw InputError("link " + link.name, "can be scaled by a positive factor only");
}

// The curve with every line and point moved.
template <class MoveLine, class MovePoint>
Curve moved(const Curve& curve, MoveLine move_line, MovePoint move_point) {
  std::vector<ProtocolLine> lines(curve.lines().begin(), curve.lines().end());
  std::vector<CurvePoint> points(curve.points().begin(), curve.points().end());
  for (ProtocolLine& line : lines) move_line(line);
  for (CurvePoint& point : points) move_point(point);
  Curve result({curve.kind, curve.dtype, Bytes{}, curve.ranks}, std::move(lines),
               std::move(points));
  result.relative_error = curve.relative_error;
  result.latency_error = curve.latency_error;
  return result;
}

}  // namespace

Link with_bandwidth(const Link& link, double factor) {
  check_factor(link, factor);
  Link scaled = link;
  scaled.widened = link.widened * factor;
  scaled.bandwidth.value = link.bandwidth.value * factor;
  scaled.bandwidth_low = link.bandwidth_low * factor;
  scaled.bandwidth_high = link.bandwidth_high * factor;
  for (Curve& curve : scaled.curves) {
    curve = moved(
        curve, [&](ProtocolLine& line) { line.bandwidth.value = line.bandwidth.value * factor; },
        [&](CurvePoint& point) { point.bytes = point.bytes * factor; });
  }
  for (Link& level : scaled.levels) level = with_bandwidth(level, factor);
  return scaled;
}

Link with_latency(const Link& link, double factor) {
  check_factor(link, factor);
  Link scaled = link;
  scaled.latency.value = link.latency.value * factor;
  scaled.large_latency.value = link.large_latency.value * factor;
  for (Curve& curve : scaled.curves) {
    const Estimate<Seconds> latency = latency_on(link, curve, link.topology);
    // What none of its sizes shows is assumed of the scaled one again.
    if (!curve.shows_latency() && !(link.latency.value > Seconds{})) {
      const CarryOver& carry = carry_over(link.topology, link.peak);
      scaled.latency = {carry.pair_latency * factor, latency.relative_error, latency.origin};
    }
    const Seconds less = latency.value * (1.0 - factor);
    curve = moved(
        curve, [&](ProtocolLine& line) { line.latency.value = line.latency.value * factor; },
        [&](CurvePoint& point) {
          // A point below the smallest time (a misfit in its place) keeps a positive one.
          point.time = std::max(point.time - less, point.time * std::min(factor, 1.0));
        });
  }
  for (Link& level : scaled.levels) level = with_latency(level, factor);
  return scaled;
}

Seconds latency_of(const Link& link) {
  for (const Curve& curve : link.curves) {
    if (curve.kind == Collective::all_reduce) return latency_on(link, curve, link.topology).value;
  }
  return link.latency.value;
}

}  // namespace ddpx
