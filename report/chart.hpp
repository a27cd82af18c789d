// Line charts as SVG: curves with interval bands and measured points, on a logarithmic or linear
// scale. Readable without colour (every series has its own marker and dash), on a white and on a
// dark page, and when colours cannot be told apart (Okabe & Ito 2008).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ddpx::report {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // of y's interval; equal to high for none
  double high = 0;
};

struct ChartSeries {
  std::string label;
  std::vector<ChartPoint> line;   // joined, with a band where low < high
  std::vector<ChartPoint> marks;  // unjoined, with a whisker where low < high
};

enum class Scale { linear, logarithmic };
// How an axis writes its numbers: 8.5M for a count, 120 ms for seconds, 40 % for a share.
enum class AxisUnit { plain, count, seconds, share };

struct Axis {
  std::string label;
  Scale scale = Scale::linear;
  AxisUnit unit = AxisUnit::plain;
  std::optional<double> from;  // where the axis must begin and end; by default it fits the data
  std::optional<double> to;
};

struct Chart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<ChartSeries> series;  // at most kMostSeries are told apart
  std::optional<double> level;      // a horizontal line, as break-even at 1
  std::string level_label;
  bool diagonal = false;      // the line y = x, for forecast against measured
  bool side_by_side = false;  // marks of several series at one x stand beside each other
  std::string line_meaning =
      "forecast, 90 % interval";  // what lines and marks stand for in the legend; empty: not said
  std::string mark_meaning = "measured";
};

inline constexpr std::size_t kMostSeries = 8;

// One chart as an <svg> element, to stand inside a page that has chart_style() in its style sheet.
// Points that cannot be drawn (not finite, or not positive on a logarithmic axis) are left out.
[[nodiscard]] std::string svg_element(const Chart& chart);

// Several charts in a grid as one SVG file with its own style.
[[nodiscard]] std::string svg_file(std::span<const Chart> charts);

// The style sheet of charts, with a dark variant by prefers-color-scheme.
[[nodiscard]] std::string chart_style();

}  // namespace ddpx::report
