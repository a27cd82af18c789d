#include "calibration/fit_links.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>

#include "calibration/timed_steps.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr double kCurveFloor = 0.015;  // a fresh process moves a queued collective by 1-2 %
constexpr double kMostSaved = 0.7;  // of a collective's time by a pause, to be sure it is not all
constexpr double kClear = 3;        // standard errors from zero

std::string describe(const CollectiveCall& call, const std::string& link) {
  return link + " " + std::string(name(call.kind)) + " " + std::string(name(call.dtype)) + " x" +
         std::to_string(call.ranks);
}

// A collective called through a framework shows the host's time per call as long as that is the
// longer of the two.
constexpr double kUntrustedError = 0.25;  // of a curve that is too short or falls with the size
constexpr std::string_view kFrameworkTool = "torch";
constexpr double kHostTime =
    1.3;  // below this multiple of the fastest call a size is bound by the host

struct TimedSize {
  std::vector<double> medians;  // one for each time it was measured
  double relative_error = 0;    // the largest of theirs
  bool framework = false;

  [[nodiscard]] double median() const { return summarise(medians, 0.0).median; }
};

// How far a link's measurements of the same size lie apart, in logarithms: the spread that one more
// would be drawn from.
double apart(std::span<const double> medians) {
  double sum = 0;
  double squares = 0;
  for (const double m : medians) {
    sum += std::log(m);
    squares += std::log(m) * std::log(m);
  }
  const double n = static_cast<double>(medians.size());
  const double variance = std::max(0.0, (squares - sum * sum / n) / (n - 1));
  return std::sqrt(variance * (1 + 1 / n));
}

// Queued device time is the better measurement of the same thing: a framework's sizes are used only
// above the last of those.
std::map<double, TimedSize> times_by_size(std::span<const CollectiveSample* const> samples,
                                          FitReport& report) {
  double queued_to = 0;
  for (const CollectiveSample* sample : samples) {
    if (sample->tool != kFrameworkTool) queued_to = std::max(queued_to, sample->call.bytes.value());
  }
  std::map<double, TimedSize> sizes;
  std::size_t unused = 0;
  for (const CollectiveSample* sample : samples) {
    const bool framework = sample->tool == kFrameworkTool;
    if (framework && sample->call.bytes.value() <= queued_to) {
      ++unused;
      continue;
    }
    TimedSize& size = sizes[sample->call.bytes.value()];
    const SampleSummary time = summarise(sample->seconds, 0.0);
    size.medians.push_back(time.median);
    if (sample->seconds.size() > 1)
      size.relative_error = std::max(size.relative_error, time.relative_error);
    size.framework = framework;
  }
  if (unused > 0) {
    report.notes.push_back(
        describe(samples.front()->call, samples.front()->link) + ": " + std::to_string(unused) +
        " sizes timed through torch are left to the queued measurement of the same sizes");
  }
  return sizes;
}

}  // namespace

namespace {

// Whether the points speak for themselves: enough of them, none much slower than the next larger
// one.
bool trustworthy(std::span<const CurvePoint> points) {
  constexpr std::size_t kEnough = 4;
  constexpr double kFalls = 1.2;
  std::size_t kept = 0;
  const CurvePoint* before = nullptr;
  for (const CurvePoint& p : points) {
    if (p.misfit) continue;
    if (before != nullptr && before->time > kFalls * p.time) return false;
    before = &p;
    ++kept;
  }
  return kept >= kEnough;
}

}  // namespace

Curve curve_of(std::span<const CollectiveSample* const> samples, const FitOptions& options,
               FitReport& report) {
  std::vector<CurvePoint> points;
  std::vector<double> spreads;
  std::vector<double> between;
  double fastest_call = std::numeric_limits<double>::infinity();
  const std::map<double, TimedSize> sizes = times_by_size(samples, report);
  for (const auto& [bytes, size] : sizes) {
    points.push_back({Bytes(bytes), Seconds(size.median()), false, ""});
    if (size.framework) fastest_call = std::min(fastest_call, size.median());
  }
  for (CurvePoint& point : points) {
    if (!sizes.at(point.bytes.value()).framework || point.time.value() > kHostTime * fastest_call)
      continue;
    if (point.bytes == points.back().bytes) continue;
    point.misfit = true;
    point.reason = "host time of a call through torch, not the link's";
  }
  const CurveFit fit = fit_curve(points, options);
  const CollectiveCall& call = samples.front()->call;
  Curve curve(call, fit.lines, fit.points);
  const std::optional<int>& hosts = samples.front()->hosts;
  if (std::all_of(samples.begin(), samples.end(),
                  [&](const CollectiveSample* sample) { return sample->hosts == hosts; }))
    curve.hosts = hosts;
  // What a size that is left out was disturbed by says nothing of the others.
  for (const CurvePoint& point : fit.points) {
    if (point.misfit) continue;
    const TimedSize& size = sizes.at(point.bytes.value());
    if (size.relative_error > 0) spreads.push_back(size.relative_error);
    if (size.medians.size() > 1) between.push_back(apart(size.medians));
  }
  // The spread at the sizes that matter, not at the small ones that start cold: the median over
  // sizes.
  const auto usual = [](const std::vector<double>& of) {
    return of.empty() ? 0.0 : summarise(of, 0.0).median;
  };
  // What lies between measurements contains what lies within one.
  curve.relative_error = std::max({kCurveFloor, usual(spreads), usual(between)});
  // Too few sizes to interpolate, or times that fall as the size grows: as unsure as the lines are.
  if (!trustworthy(fit.points))
    curve.relative_error = std::max({curve.relative_error, fit.residual, kUntrustedError});
  for (const CurvePoint& p : fit.points) {
    char what[160];
    std::snprintf(what, sizeof what, "%s %.0f B", describe(call, samples.front()->link).c_str(),
                  p.bytes.value());
    Seconds line = fit.lines.front().at(p.bytes);
    for (const ProtocolLine& l : fit.lines) line = std::min(line, l.at(p.bytes));
    report.residuals.push_back({what, p.time.value(), line.value(), p.misfit, p.reason});
  }
  return curve;
}

namespace {

// What a rested all-reduce takes less than one that follows another, weighed by how well each size
// shows it. None where it is not clear of the noise.
void fit_burst(std::span<const CollectiveSample* const> rested, Link& link) {
  double weights = 0;
  double sum = 0;
  for (const CollectiveSample* sample : rested) {
    CollectiveCall busy = sample->call;
    busy.rested = false;
    const CollectivePrice price = ddpx::price(link, busy);
    const SampleSummary time = summarise(sample->seconds, kCurveFloor);
    const double saved = price.time.value() - time.median;
    if (saved > kMostSaved * price.time.value()) continue;  // all of it: there may be more
    const double error =
        std::hypot(price.relative_error * price.time.value(), time.relative_error * time.median);
    weights += 1 / (error * error);
    sum += saved / (error * error);
  }
  if (weights <= 0) return;
  const double error = 1 / std::sqrt(weights);
  const double saved = sum / weights;
  if (saved < kClear * error) return;
  link.burst = {Seconds(saved), error / saved,
                "from " + std::to_string(rested.size()) + " sizes after a pause"};
}

}  // namespace

void fit_links(const Measurements& measurements, const FitOptions& options, Machine& machine,
               FitReport& report) {
  for (const LinkDescription& description : measurements.links) {
    Link& link = machine.links.emplace_back();
    link.name = description.name;
    link.title = description.title;
    link.topology = description.topology;
    link.topology_assumed = description.topology_assumed;
    link.channels = description.channels;
    link.peak = BytesPerSecond(description.peak_bytes_per_s);
    link.source = description.source;
    std::map<std::tuple<int, int, int>, std::vector<const CollectiveSample*>> curves;
    std::vector<const CollectiveSample*> rested;
    for (const CollectiveSample& sample : measurements.collectives) {
      if (sample.link != link.name) continue;
      if (sample.call.rested) {
        rested.push_back(&sample);
        continue;
      }
      curves[{static_cast<int>(sample.call.kind), static_cast<int>(sample.call.dtype),
              sample.call.ranks}]
          .push_back(&sample);
    }
    if (curves.empty()) {
      throw InputError(options.place, "link '" + link.name + "' has no collective sample");
    }
    for (const auto& [key, samples] : curves)
      link.curves.push_back(curve_of(samples, options, report));
    fit_burst(rested, link);
  }
  for (const CollectiveSample& sample : measurements.collectives) {
    if (!machine.find_link(sample.link)) {
      throw InputError(options.place, "a collective sample names link '" + sample.link +
                                          "', which is not among its links");
    }
  }
}

}  // namespace ddpx
