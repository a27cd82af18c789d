#include "calibration/fit_beside.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calibration/timed_steps.hpp"

namespace ddpx {
namespace {

// Where samples agree better than this, they agree by chance: schedulers differ from run to run.
constexpr double kLeastError = 0.10;

struct Visit {
  double alone = 0;   // collective
  double beside = 0;  // collective
  double core_seconds = 0;
  double bytes = 0;
};

Visit visit_of(const BesideSample& sample) {
  const auto middle = [](const std::vector<double>& v) { return summarise(v, 0).median; };
  Visit visit;
  visit.alone = middle(sample.collective_alone_seconds);
  visit.beside = middle(sample.collective_beside_seconds);
  const double slowdown =
      middle(sample.product_beside_seconds) / middle(sample.product_alone_seconds);
  visit.core_seconds = visit.beside * std::max(0.0, 1.0 - 1.0 / slowdown);
  visit.bytes = sample.call.bytes.value();
  return visit;
}

struct Line {
  double factor = 1;
  double delay = 0;
};

// Least squares of factor x alone + delay = beside, each row divided by `beside`; where the free
// fit leaves the sensible range, the best on its edge.
Line fit_line(const std::vector<Visit>& visits) {
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x1 = 0;
  double y1 = 0;
  for (const Visit& v : visits) {
    const double x = v.alone / v.beside;
    const double y = 1 / v.beside;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    x1 += x;
    y1 += y;
  }
  const double determinant = xx * yy - xy * xy;
  if (determinant > 1e-12 * xx * yy) {
    const Line line{(x1 * yy - y1 * xy) / determinant, (y1 * xx - x1 * xy) / determinant};
    if (line.factor >= 1 && line.delay >= 0) return line;
    if (line.delay < 0) return {std::max(1.0, x1 / xx), 0};
  }
  return {1, std::max(0.0, (y1 - xy) / yy)};
}

}  // namespace

void fit_beside(const Measurements& measurements, Machine& machine, FitReport& report) {
  for (Link& link : machine.links) {
    std::vector<Visit> visits;
    for (const BesideSample& sample : measurements.besides) {
      if (sample.link == link.name) visits.push_back(visit_of(sample));
    }
    if (visits.empty()) continue;
    const Line line = fit_line(visits);
    double squares = 0;
    double core = 0;
    double bytes = 0;
    for (const Visit& v : visits) {
      const double fitted = line.factor * v.alone + line.delay;
      squares += (fitted / v.beside - 1) * (fitted / v.beside - 1);
      core += v.core_seconds;
      bytes += v.bytes;
      char what[96];
      std::snprintf(what, sizeof what, "%s all_reduce of %.0f B beside products", link.name.c_str(),
                    v.bytes);
      report.residuals.push_back({what, v.beside, fitted, false, ""});
    }
    const auto count = static_cast<double>(visits.size());
    const double error = std::max(kLeastError, std::sqrt(squares / count));
    const std::string origin =
        "from " + std::to_string(visits.size()) + " pairs measured side by side";
    link.beside_compute = {line.factor, error, origin};
    if (machine.device.multiprocessors > 0) continue;
    link.shared_core = {{core / bytes, error, origin}, {Seconds(line.delay), error, origin}};
    // A link without samples of its own is most likely a network.
    if (!machine.shared_core || link.topology == Topology::network)
      machine.shared_core = link.shared_core;
  }
}

}  // namespace ddpx
