#include "model/requirement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

constexpr std::array<std::string_view, 3> kMetricNames{"speedup", "efficiency",
                                                       "communication-share"};
constexpr std::string_view kAcceptedRequirements =
    "speedup=1.8, efficiency=0.9 (or 90%), communication-share=20%";
constexpr double kMostSpeedup = 1e6;
// Points per doubling of the grid, and how closely a boundary is found.
constexpr double kPointsPerDoubling = 1;
constexpr double kPrecision = 5e-5;
constexpr double kEachUpTo = 64;  // so many whole values are all looked at

struct Looked {
  double x = 0;
  double reached = 0;
  bool met = false;
};

double snapped(const Axis& axis, double x) {
  if (axis.grain <= 0) return std::clamp(x, axis.low, axis.high);
  return std::clamp(std::round(x / axis.grain) * axis.grain, axis.low, axis.high);
}

std::vector<double> grid_of(const Axis& axis) {
  std::vector<double> grid;
  if (axis.grain > 0 && (axis.high - axis.low) / axis.grain < kEachUpTo) {
    for (double x = axis.low; x <= axis.high; x += axis.grain) grid.push_back(x);
  } else {
    const double doublings = std::log2(axis.high / axis.low);
    const auto points = static_cast<int>(std::ceil(doublings * kPointsPerDoubling));
    for (int i = 0; i <= points; ++i)
      grid.push_back(snapped(axis, axis.low * std::exp2(doublings * i / std::max(1, points))));
  }
  grid.push_back(snapped(axis, axis.now));
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

class Solver {
 public:
  Solver(const Requirement& requirement, const Axis& axis,
         const std::function<double(double)>& metric_at)
      : requirement_(requirement), axis_(axis), metric_at_(metric_at) {}

  Solution solve() {
    std::vector<Looked> seen;
    for (double x : grid_of(axis_)) seen.push_back(look(x));
    const auto met = static_cast<std::size_t>(
        std::count_if(seen.begin(), seen.end(), [](const Looked& l) { return l.met; }));
    if (met == 0 || met == seen.size()) return without_boundary(seen, met > 0);
    return with_boundaries(seen);
  }

 private:
  [[nodiscard]] Looked look(double x) const {
    const double reached = metric_at_(x);
    return {x, reached, requirement_.met_by(reached)};
  }
  [[nodiscard]] double away(double x) const { return std::abs(std::log(x / axis_.now)); }

  [[nodiscard]] Solution without_boundary(const std::vector<Looked>& seen, bool always) const {
    const auto worse = [&](const Looked& a, const Looked& b) {
      return requirement_.metric == Metric::communication_share ? a.reached > b.reached
                                                                : a.reached < b.reached;
    };
    const Looked best = *std::max_element(seen.begin(), seen.end(), worse);
    const Looked now = look(snapped(axis_, axis_.now));
    if (always) return {Outcome::always, now.x, now.reached, true, {}, 0};
    // What changes nothing stays as it is.
    constexpr double kSame = 1e-9;
    if (std::abs(best.reached - now.reached) <= kSame * std::abs(best.reached))
      return {Outcome::never, now.x, now.reached, true, {}, 0};
    return {Outcome::never, best.x, best.reached, true, {}, 0};
  }

  // The nearest to the present value is the one that is shown first.
  [[nodiscard]] Solution with_boundaries(const std::vector<Looked>& seen) const {
    Solution solution;
    std::vector<MetRange> ranges;
    if (seen.front().met) ranges.emplace_back();
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
      if (seen[i].met == seen[i + 1].met) continue;
      const Solution boundary = refined(seen[i], seen[i + 1]);
      if (boundary.at_least) ranges.emplace_back();
      (boundary.at_least ? ranges.back().from : ranges.back().to) = boundary.value;
      const double distance = std::min(away(seen[i].x), away(seen[i + 1].x));
      if (distance >= nearest) continue;
      nearest = distance;
      solution = boundary;
    }
    solution.ranges = std::move(ranges);
    return solution;
  }

  // Where the requirement lies between two looks, by a straight line over the logarithm of x; a
  // little beyond, as seen from the nearer end, so that the next line closes the bracket.
  [[nodiscard]] double aimed(const Looked& low, const Looked& high) const {
    const double width = std::log(high.x / low.x);
    const double share = (requirement_.value - low.reached) / (high.reached - low.reached);
    const double beyond = 0.4 * kPrecision / width;
    const double at = share < 0.5 ? share + beyond : share - beyond;
    return low.x * std::exp(width * (at > 0 && at < 1 ? at : 0.5));
  }

  // By such lines while they halve the bracket, else by halving (Dekker 1969).
  [[nodiscard]] Solution refined(Looked low, Looked high) const {
    bool halve = false;
    while (true) {
      const double width = std::log(high.x / low.x);
      const bool close =
          axis_.grain > 0 ? high.x - low.x <= axis_.grain * (1 + kPrecision) : width < kPrecision;
      double probe = snapped(axis_, halve ? std::sqrt(low.x * high.x) : aimed(low, high));
      if (probe <= low.x || probe >= high.x) probe = snapped(axis_, std::sqrt(low.x * high.x));
      if (close || probe <= low.x || probe >= high.x) break;
      const Looked looked = look(probe);
      (looked.met == low.met ? low : high) = looked;
      halve = std::log(high.x / low.x) > 0.5 * width;
    }
    const Looked& side = low.met ? low : high;
    const Looked& other = low.met ? high : low;
    return {Outcome::boundary, side.x, side.reached, high.met, {}, other.reached};
  }

  const Requirement& requirement_;
  const Axis& axis_;
  const std::function<double(double)>& metric_at_;
};

[[noreturn]] void reject_requirement(std::string_view place, std::string_view text) {
  throw InputError(place, "'" + shown(text) + "' is no requirement; accepted: " +
                              std::string(kAcceptedRequirements));
}

// The fewest digits that read back the same.
std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::string_view name(Metric metric) { return kMetricNames.at(static_cast<std::size_t>(metric)); }

bool Requirement::met_by(double reached) const {
  return metric == Metric::communication_share ? reached <= value : reached >= value;
}

Requirement parse_requirement(std::string_view place, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) reject_requirement(place, text);
  const auto known = std::find(kMetricNames.begin(), kMetricNames.end(), text.substr(0, equals));
  if (known == kMetricNames.end()) reject_requirement(place, text);
  Requirement requirement;
  requirement.metric = static_cast<Metric>(known - kMetricNames.begin());
  std::string_view rest = text.substr(equals + 1);
  const bool percent = rest.ends_with('%');
  if (percent) rest.remove_suffix(1);
  const auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), requirement.value);
  const bool speedup = requirement.metric == Metric::speedup;
  if (error != std::errc() || end != rest.data() + rest.size() || (percent && speedup))
    reject_requirement(place, text);
  if (percent) requirement.value /= 100;
  const double most = speedup ? kMostSpeedup : 1.0;
  if (!(requirement.value > 0) || requirement.value > most) {
    throw InputError(place, "'" + shown(text) + "' is out of range; " + std::string(*known) +
                                (speedup ? " is above 0 and at most 10^6"
                                         : " is a share above 0 and at most 1, as 0.9 or 90%"));
  }
  return requirement;
}

std::string describe(const Requirement& requirement) {
  return std::string(name(requirement.metric)) + "=" + shortest(requirement.value);
}

bool Solution::jumps(const Requirement& requirement) const {
  constexpr double kThousandth = 1e-3;
  return outcome == Outcome::boundary &&
         std::abs(reached - requirement.value) > kThousandth * requirement.value;
}

Solution solve(const Requirement& requirement, const Axis& axis,
               const std::function<double(double)>& metric_at) {
  return Solver(requirement, axis, metric_at).solve();
}

UsefulGpus useful_gpus(const std::vector<double>& speedups) {
  UsefulGpus useful;
  const auto count = [](std::size_t i) { return static_cast<int>(i); };
  if (speedups.empty()) return useful;
  // Sums in another order are no more throughput.
  constexpr double kSame = 1e-9;
  const auto less = [](double a, double b) { return a < b * (1 - kSame); };
  const auto most =
      static_cast<std::size_t>(std::max_element(speedups.begin(), speedups.end(), less) -
                               speedups.begin()) +
      1;
  std::size_t half = 1;
  while (half < speedups.size() && speedups[half] - speedups[half - 1] >= 0.5 * speedups[0]) ++half;
  useful.most = count(most);
  useful.dips =
      !std::is_sorted(speedups.begin(), speedups.begin() + static_cast<std::ptrdiff_t>(most), less);
  useful.most_is_last = most >= speedups.size();
  useful.half = count(half);
  useful.half_is_last = half >= speedups.size();
  return useful;
}

}  // namespace ddpx
