#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "calibration/fit_links.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kMinSegment = 3;   // points a line needs, one more than it has constants
constexpr std::size_t kMaxLines = 3;     // NCCL has three protocols: LL, LL128, Simple
constexpr double kFewSizesError = 0.25;  // of what one or two sizes say
// Standard errors of this many times a constant: its sign is not known, let alone its value.
constexpr double kLost = 10;
// A message slower than a larger one by more than this was disturbed (a cold start, another
// tenant); protocols differ by less.
constexpr double kSlowerThanLarger = 1.5;

struct Segment {
  ProtocolLine line;
  double squares = 0;  // sum of squared relative residuals
};

// Weighted least squares of time = a + b bytes with weights 1/time^2; a, b >= 0.
Segment fit_segment(std::span<const CurvePoint> points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  // Bytes are scaled by the largest, so that both columns are of order one.
  const double scale = points.back().bytes.value();
  Eigen::MatrixXd design(n, 2);
  for (Eigen::Index i = 0; i < n; ++i) {
    const CurvePoint& p = points[static_cast<std::size_t>(i)];
    design(i, 0) = 1.0 / p.time.value();
    design(i, 1) = p.bytes.value() / scale / p.time.value();
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  Eigen::Vector2d x = design.colPivHouseholderQr().solve(ones);
  // A constant that comes out negative is zero and the other is fitted alone.
  const auto alone = [&](int column) {
    return design.col(column).dot(ones) / design.col(column).squaredNorm();
  };
  if (x(0) < 0) x = {0.0, alone(1)};
  if (x(1) < 0) x = {alone(0), 0.0};
  const double squares = (design * x - ones).squaredNorm();
  const double variance = squares / static_cast<double>(std::max<Eigen::Index>(1, n - 2));
  const Eigen::Matrix2d covariance =
      variance * (design.transpose() * design).completeOrthogonalDecomposition().pseudoInverse();
  const auto relative = [&](int i) {
    return x(i) > 0 ? std::sqrt(std::max(0.0, covariance(i, i))) / x(i) : 1.0;
  };
  Segment segment;
  segment.squares = squares;
  segment.line.latency = relative(0) <= kLost ? Estimate<Seconds>{Seconds(x(0)), relative(0), ""}
                                              : Estimate<Seconds>{Seconds{}, 1.0, "no size tells"};
  if (x(1) > 0 && relative(1) <= kLost) {
    segment.line.bandwidth = {BytesPerSecond(scale / x(1)), relative(1), ""};
  } else if (x(1) > 0) {
    // A slope lost in the noise is bounded by it: the bandwidth is at least this.
    segment.line.bandwidth = {BytesPerSecond(scale / (x(1) * (1 + relative(1)))), 1.0,
                              "no size tells"};
  } else {
    // Times that do not grow with the size say nothing about bandwidth but that it is at least
    // this.
    segment.line.bandwidth = {points.back().bytes / points.back().time, 1.0, "no size tells"};
  }
  return segment;
}

double squares_of_minimum(std::span<const CurvePoint> points, std::span<const ProtocolLine> lines) {
  double sum = 0;
  for (const CurvePoint& p : points) {
    Seconds best{std::numeric_limits<double>::infinity()};
    for (const ProtocolLine& line : lines) best = std::min(best, line.at(p.bytes));
    const double r = best / p.time - 1.0;
    sum += r * r;
  }
  return sum;
}

// The best split of the points into `count` consecutive segments.
std::vector<ProtocolLine> best_split(std::span<const CurvePoint> points, std::size_t count) {
  const std::size_t n = points.size();
  std::vector<ProtocolLine> best;
  double best_squares = std::numeric_limits<double>::infinity();
  const auto consider = [&](std::initializer_list<std::size_t> ends) {
    std::vector<ProtocolLine> lines;
    double squares = 0;
    std::size_t begin = 0;
    for (std::size_t end : ends) {
      const Segment segment = fit_segment(points.subspan(begin, end - begin));
      lines.push_back(segment.line);
      squares += segment.squares;
      begin = end;
    }
    if (squares < best_squares) {
      best_squares = squares;
      best = std::move(lines);
    }
  };
  if (count == 1) consider({n});
  for (std::size_t i = kMinSegment; count >= 2 && i + kMinSegment <= n; ++i) {
    if (count == 2) consider({i, n});
    for (std::size_t j = i + kMinSegment; count == 3 && j + kMinSegment <= n; ++j)
      consider({i, j, n});
  }
  return best;
}

void flag_slower_than_larger(std::vector<CurvePoint>& points) {
  Seconds fastest_larger{std::numeric_limits<double>::infinity()};
  for (auto p = points.rbegin(); p != points.rend(); ++p) {
    if (p->time > kSlowerThanLarger * fastest_larger) {
      p->misfit = true;
      p->reason = "slower than a larger message: cold start or disturbed";
    }
    fastest_larger = std::min(fastest_larger, p->time);
  }
}

// Where two points lead, straight on in log-log, at `bytes`.
double extended(const CurvePoint& a, const CurvePoint& b, Bytes bytes) {
  const double slope = std::log(b.time / a.time) / std::log(b.bytes / a.bytes);
  return a.time.value() * std::pow(bytes / a.bytes, slope);
}

// The two points before (`step` -1) or after the i-th that lie apart enough to lead anywhere: sizes
// that are almost the same say nothing about the course. nullptr where there are none.
struct Course {
  const CurvePoint* near = nullptr;
  const CurvePoint* far = nullptr;
};

Course course(std::span<CurvePoint* const> points, std::size_t i, int step) {
  constexpr double kApart = 1.2;
  const auto apart = [](const CurvePoint& a, const CurvePoint& b) {
    return std::max(a.bytes / b.bytes, b.bytes / a.bytes) > kApart;
  };
  Course found;
  for (auto k = static_cast<std::ptrdiff_t>(i) + step;
       k >= 0 && k < static_cast<std::ptrdiff_t>(points.size()) && found.far == nullptr;
       k += step) {
    const CurvePoint& p = *points[static_cast<std::size_t>(k)];
    if (found.near == nullptr) {
      if (apart(p, *points[i])) found.near = &p;
    } else if (apart(p, *found.near)) {
      found.far = &p;
    }
  }
  return found;
}

// A point is a misfit when it is far from where its two smaller neighbours lead, from where its two
// larger ones lead and from the lines: a spike. A cliff, where a protocol changes or a network
// chokes, agrees with one side and is kept.
void flag_misfits(std::vector<CurvePoint>& points, std::span<const ProtocolLine> lines,
                  double misfit) {
  std::vector<CurvePoint*> kept;
  for (CurvePoint& p : points) {
    if (!p.misfit) kept.push_back(&p);
  }
  const auto off = [&](const CurvePoint& p, double expected) {
    return std::abs(p.time.value() / expected - 1.0) > misfit;
  };
  for (std::size_t i = 2; i + 2 < kept.size(); ++i) {
    CurvePoint& p = *kept[i];
    const Course before = course(kept, i, -1);
    const Course after = course(kept, i, 1);
    if (before.far == nullptr || after.far == nullptr) continue;
    Seconds line{std::numeric_limits<double>::infinity()};
    for (const ProtocolLine& l : lines) line = std::min(line, l.at(p.bytes));
    const bool spike = off(p, line.value()) &&
                       off(p, extended(*before.far, *before.near, p.bytes)) &&
                       off(p, extended(*after.near, *after.far, p.bytes));
    if (!spike || before.near->misfit) continue;
    p.misfit = true;
    p.reason = "off both neighbours' course and the fitted lines by more than the misfit limit";
  }
}

std::vector<CurvePoint> kept_points(std::span<const CurvePoint> points) {
  std::vector<CurvePoint> kept;
  for (const CurvePoint& p : points) {
    if (!p.misfit) kept.push_back(p);
  }
  return kept;
}

std::vector<ProtocolLine> fit_lines(std::span<const CurvePoint> points) {
  const auto n = static_cast<double>(points.size());
  if (points.size() < kMinSegment) return {};
  std::vector<ProtocolLine> best;
  double best_criterion = std::numeric_limits<double>::infinity();
  for (std::size_t count = 1; count <= kMaxLines && count * kMinSegment <= points.size(); ++count) {
    std::vector<ProtocolLine> lines = best_split(points, count);
    const double squares = std::max(squares_of_minimum(points, lines), 1e-12);
    // A line has two constants and a breakpoint.
    const double constants = 3.0 * static_cast<double>(count) - 1.0;
    const double criterion = n * std::log(squares / n) + constants * std::log(n);
    if (criterion < best_criterion) {
      best_criterion = criterion;
      best = std::move(lines);
    }
  }
  return best;
}

}  // namespace

namespace {

// Two sizes make a line where time grows between them, one gives a bandwidth and no latency;
// neither says how sure it is.
ProtocolLine few_sizes(std::span<const CurvePoint> points) {
  const CurvePoint& last = points.back();
  const CurvePoint& first = points.front();
  const double slope = (last.time - first.time).value() / (last.bytes - first.bytes).value();
  const double latency = first.time.value() - slope * first.bytes.value();
  if (points.size() == 2 && slope > 0 && latency >= 0) {
    return {{Seconds(latency), kFewSizesError, "two sizes"},
            {BytesPerSecond(1 / slope), kFewSizesError, "two sizes"}};
  }
  return {{Seconds{}, 1.0, "too few sizes"},
          {last.bytes / last.time, kFewSizesError, "too few sizes"}};
}

}  // namespace

CurveFit fit_curve(std::span<const CurvePoint> points, const FitOptions& options) {
  CurveFit fit;
  fit.points.assign(points.begin(), points.end());
  if (fit.points.empty()) throw InputError("collective curve", "has no measured point to fit");
  std::sort(fit.points.begin(), fit.points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; });
  flag_slower_than_larger(fit.points);
  std::vector<CurvePoint> kept = kept_points(fit.points);
  fit.lines = fit_lines(kept);
  if (!fit.lines.empty()) {
    flag_misfits(fit.points, fit.lines, options.misfit);
    kept = kept_points(fit.points);
    fit.lines = fit_lines(kept);
  }
  if (fit.lines.empty()) {
    fit.lines = {few_sizes(kept)};
  }
  fit.residual = std::sqrt(squares_of_minimum(kept, fit.lines) / static_cast<double>(kept.size()));
  return fit;
}

ProtocolLine line_through(std::span<const CurvePoint> points) { return fit_segment(points).line; }

}  // namespace ddpx
