// Where a sweep crosses speedup 1: between its points, found by further forecasts there.
#include <algorithm>
#include <cmath>

#include "model/error.hpp"
#include "predict/setting.hpp"

namespace ddpx {
namespace {

// Forecasts on either side of a crossing are at most so far apart, where sizes can be.
constexpr double kResolution = 1.002;

struct Look {
  double value = 0;  // of the swept key
  SweepPoint point;
  std::optional<SweepPoint> target;  // the same in time to target
};

// Whether the speedup or an end of its interval passes 1 from one to the other.
bool passes(const Interval& a, const Interval& b) {
  return (a.value >= 1) != (b.value >= 1) || (a.low >= 1) != (b.low >= 1) ||
         (a.high >= 1) != (b.high >= 1);
}

bool passes(const Look& a, const Look& b) {
  return passes(a.point.speedup, b.point.speedup) ||
         (a.target && b.target && passes(a.target->speedup, b.target->speedup));
}

class Between {
 public:
  Between(const Setting& setting, const NetworkSeries& series, SweepAxis axis)
      : s_(setting), series_(series), axis_(axis) {}

  [[nodiscard]] Look look(double value) const {
    const bool sizes = axis_ == SweepAxis::parameters;
    const Network network = series_.at(sizes ? value : 0);
    Job job = s_.job;
    if (!sizes) job.batch_per_rank = value;
    const Forecast f =
        forecast(s_.query.machine, s_.products, s_.link, network, job, s_.intervals());
    return looked(value, sizes ? network.parameters() : value, f, plan_in(s_, f, job));
  }
  static Look looked(double value, double x, const Forecast& f, const std::optional<Plan>& plan) {
    Look look{value, {x, f.speedup}, std::nullopt};
    look.point.speedup.value = speedup_of(f);
    if (plan && plan->target_speedup) look.target = {x, *plan->target_speedup};
    return look;
  }

  // Appends what lies between the last look and `next`, halving, and `next` itself.
  void add(std::vector<Look>& looks, const Look& next) const {
    const Look last = looks.back();
    const double middle =
        series_.grain * std::round(std::sqrt(last.value * next.value) / series_.grain);
    if (passes(last, next) && next.value > kResolution * last.value && middle > last.value &&
        middle < next.value) {
      const Look between = look(middle);
      if (between.point.x > last.point.x && between.point.x < next.point.x) add(looks, between);
      if (looks.back().value == middle) return add(looks, next);
    }
    looks.push_back(next);
  }

 private:
  const Setting& s_;
  const NetworkSeries& series_;
  SweepAxis axis_;
};

// With the points of the sweep that a crossing lies between.
std::vector<Crossing> crossings_of(const std::vector<SweepPoint>& looks,
                                   const std::vector<SweepPoint>& sweep) {
  std::vector<Crossing> found = crossings(looks);
  for (Crossing& crossing : found) {
    const auto beyond =
        std::upper_bound(sweep.begin() + 1, sweep.end() - 1, crossing.x.value,
                         [](double x, const SweepPoint& point) { return x < point.x; });
    crossing.bracket_low = (beyond - 1)->x;
    crossing.bracket_high = beyond->x;
  }
  return found;
}

}  // namespace

std::optional<Plan> plan_in(const Setting& setting, const Forecast& f, const Job& job) {
  if (!setting.query.plan.asked()) return std::nullopt;
  const NodeLayout layout{setting.nodes, job.gpus / setting.nodes};
  return plan_of(setting.query.plan, f, job, layout, setting.given->name);
}

bool paced_alike(const Forecast& f) {
  constexpr double kOne = 1 + 1e-9;
  return f.step.term(Term::loader).value() > 0 && f.one_gpu_step.term(Term::loader).value() > 0 &&
         f.speedup.value <= kOne;
}

double speedup_of(const Forecast& f) {
  return paced_alike(f) ? std::min(f.speedup.value, std::nextafter(1.0, 0.0)) : f.speedup.value;
}

std::optional<double> break_even(const Setting& setting, const Network& network) {
  const auto speedup_at = [&](double batch) {
    Job job = setting.job;
    job.batch_per_rank = batch;
    return speedup_of(
        point_forecast(setting.query.machine, setting.products, setting.link, network, job));
  };
  const double least = setting.job.scaling == Scaling::strong ? setting.job.gpus : 1;
  return break_even_batch(speedup_at, least, kLargestBatch);
}

std::optional<CrossoverRow> crossover(const Setting& setting, const NetworkSeries& series,
                                      std::span<const ForecastRow> rows, SweepAxis axis) {
  const Between between(setting, series, axis);
  std::vector<SweepPoint> sweep;
  std::vector<Look> looks;
  for (const ForecastRow& row : rows) {
    const bool sizes = axis == SweepAxis::parameters;
    const double x = sizes ? row.parameters : row.job.batch_per_rank;
    if (!sweep.empty() && !(x > sweep.back().x)) return std::nullopt;
    sweep.push_back({x, row.forecast.speedup});
    const Look next =
        Between::looked(sizes ? series.sweep[looks.size()] : x, x, row.forecast, row.plan);
    looks.push_back(next);
  }
  CrossoverRow result;
  result.network = axis == SweepAxis::parameters ? series.name : rows.front().network;
  result.gpus = setting.job.gpus;
  result.link = setting.link.name;
  result.strategy = describe(setting.job.strategy);
  if (axis == SweepAxis::parameters) result.batch_per_rank = setting.job.batch_per_rank;
  result.ranks_sharing_batch = setting.job.ranks_sharing_batch();
  result.axis = axis;
  result.sweep_low = sweep.front().x;
  result.sweep_high = sweep.back().x;
  const auto by_speedup = [](const Look& a, const Look& b) {
    return a.point.speedup.value < b.point.speedup.value;
  };
  const auto by_target = [](const Look& a, const Look& b) {
    return a.target->speedup.value < b.target->speedup.value;
  };
  const auto [lowest, highest] = std::minmax_element(looks.begin(), looks.end(), by_speedup);
  result.lowest_speedup = lowest->point.speedup;
  result.highest_speedup = highest->point.speedup;
  std::vector<Look> closer{looks.front()};
  for (std::size_t i = 1; i < looks.size(); ++i) between.add(closer, looks[i]);
  std::vector<SweepPoint> points;
  std::vector<SweepPoint> target;
  for (const Look& look : closer) {
    points.push_back(look.point);
    if (look.target) target.push_back(*look.target);
  }
  result.crossings = crossings_of(points, sweep);
  if (target.empty()) return result;
  const auto [least, most] = std::minmax_element(looks.begin(), looks.end(), by_target);
  result.lowest_target_speedup = least->target->speedup;
  result.highest_target_speedup = most->target->speedup;
  result.target_crossings = crossings_of(target, sweep);
  return result;
}

}  // namespace ddpx
