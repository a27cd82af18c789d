#include "report/figures.hpp"

#include <algorithm>
#include <set>

namespace ddpx::report {
namespace {

constexpr std::string_view kSeparator = ", ";

std::vector<std::string> parts_of(std::string_view group) {
  std::vector<std::string> parts;
  while (!group.empty()) {
    const std::size_t end = std::min(group.find(kSeparator), group.size());
    parts.emplace_back(group.substr(0, end));
    group.remove_prefix(std::min(group.size(), end + kSeparator.size()));
  }
  return parts;
}

// What every sweep's name says is said once, in the caption; what remains tells the sweeps apart.
class Names {
 public:
  explicit Names(const std::vector<SweepComparison>& sweeps) {
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
      const std::vector<std::string> parts = parts_of(sweeps[i].group);
      const std::set<std::string> its(parts.begin(), parts.end());
      if (i == 0) order_ = parts;
      std::erase_if(order_, [&](const std::string& part) { return !its.contains(part); });
    }
    if (sweeps.size() == 1) order_.clear();
  }

  [[nodiscard]] std::string label(const SweepComparison& sweep) const {
    std::string text;
    for (const std::string& part : parts_of(sweep.group)) {
      if (std::find(order_.begin(), order_.end(), part) != order_.end()) continue;
      text += (text.empty() ? "" : std::string(kSeparator)) + part;
    }
    return text;
  }

  [[nodiscard]] std::string common() const {
    std::string text;
    for (const std::string& part : order_)
      text += (text.empty() ? "" : std::string(kSeparator)) + part;
    return text.empty() ? "" : " All: " + text + ".";
  }

 private:
  std::vector<std::string> order_;
};

std::vector<ChartPoint> chart_points(const std::vector<SweepPoint>& points) {
  std::vector<ChartPoint> result;
  result.reserve(points.size());
  for (const SweepPoint& point : points) {
    result.push_back({point.x, point.speedup.value, point.speedup.low, point.speedup.high});
  }
  return result;
}

using Points = std::vector<SweepPoint> SweepComparison::*;

// Charts by family, each with at most kMostSeries sweeps; `chart` is what all of them look like.
std::vector<Chart> charts_by_family(const Comparison& comparison, const Chart& like, Points line,
                                    Points marks) {
  const Names names(comparison.sweeps);
  std::vector<std::string> families;
  for (const SweepComparison& sweep : comparison.sweeps) {
    if (std::find(families.begin(), families.end(), sweep.family) == families.end())
      families.push_back(sweep.family);
  }
  std::vector<Chart> charts;
  for (const std::string& family : families) {
    Chart chart = like;
    chart.title += family;
    for (const SweepComparison& sweep : comparison.sweeps) {
      if (sweep.family != family) continue;
      if (chart.series.size() == kMostSeries) {
        charts.push_back(chart);
        chart.title = like.title + family + ", continued";
        chart.series.clear();
      }
      chart.series.push_back(
          {names.label(sweep), chart_points(sweep.*line), chart_points(sweep.*marks)});
    }
    charts.push_back(chart);
  }
  return charts;
}

Axis parameters_axis() { return {"parameters", Scale::logarithmic, AxisUnit::count, {}, {}}; }

// Rows as marks, by family.
template <class PointOf>
void add_rows(Chart& chart, const Comparison& comparison, const PointOf& point_of) {
  for (const ComparedRow& row : comparison.rows) {
    auto found =
        std::find_if(chart.series.begin(), chart.series.end(),
                     [&](const ChartSeries& series) { return series.label == row.family; });
    if (found == chart.series.end())
      found = chart.series.insert(chart.series.end(), ChartSeries{row.family, {}, {}});
    found->marks.push_back(point_of(row));
  }
}

}  // namespace

Figure speedup_figure(const Comparison& comparison) {
  Chart like;
  like.title = "Speedup: ";
  like.x = parameters_axis();
  like.y = {"speedup over one GPU", Scale::linear, AxisUnit::plain, 0.0, {}};
  like.level = 1.0;
  like.level_label = "break-even";
  return {
      "speedup",
      "Speedup over one GPU against parameters: the forecast with its 90 % interval, and what was "
      "measured with the "
      "spread over fresh processes." +
          Names(comparison.sweeps).common(),
      charts_by_family(comparison, like, &SweepComparison::forecast, &SweepComparison::measured)};
}

Figure communication_figure(const Comparison& comparison) {
  Chart like;
  like.title = "Communication: ";
  like.x = parameters_axis();
  like.y = {"exposed share of the step", Scale::linear, AxisUnit::share, 0.0, 1.0};
  like.line_meaning = "forecast";
  return {"communication",
          "Share of the step in which compute waits for communication, against parameters." +
              Names(comparison.sweeps).common(),
          charts_by_family(comparison, like, &SweepComparison::forecast_communication,
                           &SweepComparison::measured_communication)};
}

Figure errors_figure(const Comparison& comparison) {
  Chart steps;
  steps.title = "Forecast against measured step";
  steps.x = {"measured step", Scale::logarithmic, AxisUnit::seconds, {}, {}};
  steps.y = {"forecast step", Scale::logarithmic, AxisUnit::seconds, {}, {}};
  steps.diagonal = true;
  steps.level_label = "forecast = measured";
  steps.mark_meaning = "one row, with its 90 % interval";
  add_rows(steps, comparison, [](const ComparedRow& row) {
    const Interval& step = row.forecast.step_time_s;
    return ChartPoint{row.measured.value, step.value, step.low, step.high};
  });
  Chart errors;
  errors.title = "Error of the step";
  errors.x = parameters_axis();
  errors.y = {"forecast / measured - 1", Scale::linear, AxisUnit::share, {}, {}};
  errors.level = 0.0;
  errors.side_by_side = true;
  errors.level_label = "no error";
  errors.mark_meaning = "one row";
  add_rows(errors, comparison, [](const ComparedRow& row) {
    return ChartPoint{row.parameters, row.error, row.error, row.error};
  });
  return {"errors",
          "Every row: the forecast step against the measured one, and its error against the "
          "network's size.",
          {steps, errors}};
}

}  // namespace ddpx::report
