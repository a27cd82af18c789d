#include "io/curve_json.hpp"

#include <algorithm>
#include <map>

#include "io/estimate_json.hpp"
#include "io/operation_json.hpp"

namespace ddpx::io {
namespace {

ProtocolLine line_of(const Reader& from) {
  from.only({"latency_s", "bandwidth_bytes_per_s"});
  return {estimate_of<Seconds>(from.at("latency_s"), kFittedLatency),
          estimate_of<BytesPerSecond>(from.at("bandwidth_bytes_per_s"), kLinkRate)};
}

CurvePoint curve_point_of(const Reader& from) {
  from.only({"bytes", "time_s", "misfit"});
  CurvePoint point;
  point.bytes = Bytes(from.at("bytes").plausible(kSize));
  point.time = Seconds(from.at("time_s").time_of(point.bytes.value(), kLinkRate));
  if (const auto reason = from.find("misfit")) {
    point.misfit = true;
    point.reason = reason->text();
  }
  return point;
}

std::vector<CurvePoint> points_of(const Reader& from) {
  std::vector<CurvePoint> points;
  std::map<double, std::size_t> first_with;
  for (const Reader& element : from.elements()) {
    points.push_back(curve_point_of(element));
    const auto [earlier, fresh] =
        first_with.emplace(points.back().bytes.value(), points.size() - 1);
    if (!fresh) {
      element.at("bytes").refuse_value("each size once in a curve, and points[" +
                                       std::to_string(earlier->second) + "] has it already");
    }
  }
  return points;
}

JsonObject point_json(const CurvePoint& point) {
  JsonObject members;
  members.emplace_back("bytes", point.bytes.value());
  members.emplace_back("time_s", point.time.value());
  if (point.misfit) members.emplace_back("misfit", point.reason);
  return members;
}

JsonObject line_json(const ProtocolLine& line) {
  JsonObject members;
  members.emplace_back("latency_s", estimate_json(line.latency));
  members.emplace_back("bandwidth_bytes_per_s", estimate_json(line.bandwidth));
  return members;
}

}  // namespace

Curve curve_of(const Reader& from) {
  from.only({"collective", "dtype", "ranks", "hosts", "relative_error", "lines", "points"});
  CollectiveCall call;
  call.kind = collective_of(from.at("collective"));
  call.dtype = dtype_of(from.at("dtype"));
  call.ranks = from.at("ranks").integer(2, kMostRanks);
  std::vector<ProtocolLine> lines;
  for (const Reader& element : from.at("lines").elements()) lines.push_back(line_of(element));
  std::vector<CurvePoint> points = points_of(from.at("points"));
  const bool usable = std::any_of(points.begin(), points.end(),
                                  [](const CurvePoint& point) { return !point.misfit; });
  if (lines.empty() && !usable) {
    from.refuse("has neither a line nor a point that is no misfit; one of them is required");
  }
  Curve curve(call, std::move(lines), std::move(points));
  if (const auto hosts = from.find("hosts")) curve.hosts = hosts->integer(1, call.ranks);
  curve.relative_error = from.at("relative_error").plausible(kRelativeError);
  return curve;
}

JsonObject curve_json(const Curve& curve) {
  JsonArray lines;
  for (const ProtocolLine& line : curve.lines()) lines.emplace_back(line_json(line));
  JsonArray points;
  for (const CurvePoint& point : curve.points()) points.emplace_back(point_json(point));
  JsonObject members;
  members.emplace_back("collective", name(curve.kind));
  members.emplace_back("dtype", name(curve.dtype));
  members.emplace_back("ranks", curve.ranks);
  if (curve.hosts) members.emplace_back("hosts", *curve.hosts);
  members.emplace_back("relative_error", curve.relative_error);
  members.emplace_back("lines", std::move(lines));
  members.emplace_back("points", std::move(points));
  return members;
}

}  // namespace ddpx::io
