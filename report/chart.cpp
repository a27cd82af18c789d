#include "report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/escape.hpp"
#include "report/legend.hpp"
#include "report/scale.hpp"

namespace ddpx::report {
namespace {

// Drawn at this width, text is 12 px; a phone of 360 px shows it at 10 px.
constexpr double kWidth = 420;
constexpr double kTop = 34;
constexpr double kAxisLabel = 26;  // room for the y axis's label, left of its ticks
constexpr double kTickCharacter = 7;
constexpr double kRight = 14;
constexpr double kPlotHeight = 230;
constexpr double kTickRoom = 40;  // tick labels and the axis label below the plot

struct Frame {
  AxisScale x;
  AxisScale y;
  double left;  // of the plot: the longest tick label decides

  [[nodiscard]] bool drawable(const ChartPoint& p) const {
    return x.drawable(p.x) && y.drawable(p.y);
  }
  [[nodiscard]] double px(double value) const { return x.at(value, left, kWidth - kRight); }
  [[nodiscard]] double py(double value) const { return y.at(value, kTop + kPlotHeight, kTop); }
  // The lower edge of an interval may be 0, which a logarithmic axis shows at its end.
  [[nodiscard]] double py_edge(double edge, double otherwise) const {
    return y.drawable(edge) ? py(edge) : otherwise;
  }
};

std::vector<double> all_x(const Chart& chart) {
  std::vector<double> values;
  for (const ChartSeries& series : chart.series) {
    for (const auto* points : {&series.line, &series.marks}) {
      for (const ChartPoint& p : *points) values.push_back(p.x);
    }
  }
  return values;
}

std::vector<double> all_y(const Chart& chart) {
  std::vector<double> values;
  for (const ChartSeries& series : chart.series) {
    for (const auto* points : {&series.line, &series.marks}) {
      for (const ChartPoint& p : *points) values.insert(values.end(), {p.y, p.low, p.high});
    }
  }
  if (chart.level) values.push_back(*chart.level);
  return values;
}

Frame frame_of(const Chart& chart) {
  std::vector<double> x = all_x(chart);
  std::vector<double> y = all_y(chart);
  if (chart.diagonal) {  // the same span on both axes
    x.insert(x.end(), y.begin(), y.end());
    y = x;
  }
  AxisScale scale(chart.y, y);
  std::size_t longest = 0;
  for (const Tick& tick : scale.ticks()) longest = std::max(longest, tick.text.size());
  return {AxisScale(chart.x, x), scale, kAxisLabel + kTickCharacter * static_cast<double>(longest)};
}

void draw_axes(std::string& out, const Chart& chart, const Frame& frame) {
  const double bottom = kTop + kPlotHeight;
  const auto to = std::back_inserter(out);
  for (const Tick& tick : frame.y.ticks()) {
    const double y = frame.py(tick.value);
    fmt::format_to(to, R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)", frame.left, y,
                   kWidth - kRight);
    fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   frame.left - 6, y + 4, xml(tick.text));
  }
  double last_end = 0;  // of the label before: labels never touch
  for (const Tick& tick : frame.x.ticks()) {
    const double x = frame.px(tick.value);
    fmt::format_to(to, R"(<path class="grid" d="M{:.1f} {:.1f}V{:.1f}"/>)", x, kTop, bottom);
    const double half = 0.5 * kTickCharacter * static_cast<double>(tick.text.size());
    if (x - half < last_end + kTickCharacter) continue;
    last_end = x + half;
    fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x,
                   bottom + 16, xml(tick.text));
  }
  fmt::format_to(to, "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\"/>\n", frame.left,
                 kTop, bottom, kWidth - kRight);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                 (frame.left + kWidth - kRight) / 2, bottom + 34, xml(chart.x.label));
  fmt::format_to(to,
                 "<text transform=\"translate(13 {:.1f}) rotate(-90)\" "
                 "text-anchor=\"middle\">{}</text>\n",
                 kTop + kPlotHeight / 2, xml(chart.y.label));
}

void draw_band(std::string& out, const Frame& frame, const std::vector<ChartPoint>& line) {
  std::string upper;
  std::vector<std::string> lower;  // drawn backwards
  for (const ChartPoint& p : line) {
    if (!(p.low < p.high)) continue;
    const double x = frame.px(p.x);
    const double floor = kTop + kPlotHeight;
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", x,
                         frame.py_edge(p.high, frame.py(p.y)));
    lower.push_back(fmt::format("L{:.1f} {:.1f}", x, frame.py_edge(p.low, floor)));
  }
  if (upper.empty()) return;
  for (auto edge = lower.rbegin(); edge != lower.rend(); ++edge) upper += *edge;
  fmt::format_to(std::back_inserter(out), "<path class=\"band\" d=\"{}Z\"/>\n", upper);
}

void draw_line(std::string& out, const Frame& frame, const std::vector<ChartPoint>& line,
               std::size_t style) {
  std::string path;
  for (const ChartPoint& p : line) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.px(p.x), frame.py(p.y));
  }
  if (path.empty()) return;
  fmt::format_to(std::back_inserter(out),
                 "<path class=\"line\" stroke-dasharray=\"{}\" d=\"{}\"/>\n", dash(style), path);
}

void draw_marks(std::string& out, const Frame& frame, const std::vector<ChartPoint>& marks,
                std::size_t style, double aside) {
  for (const ChartPoint& p : marks) {
    const double x = frame.px(p.x) + aside;
    const double y = frame.py(p.y);
    if (p.low < p.high) {
      fmt::format_to(std::back_inserter(out),
                     R"(<path class="whisker" d="M{:.1f} {:.1f}V{:.1f}"/>)", x,
                     frame.py_edge(p.low, kTop + kPlotHeight), frame.py_edge(p.high, y));
    }
    out += marker(style, x, y) + "\n";
  }
}

std::vector<ChartPoint> drawable(const Frame& frame, const std::vector<ChartPoint>& points) {
  std::vector<ChartPoint> kept;
  std::copy_if(points.begin(), points.end(), std::back_inserter(kept),
               [&](const ChartPoint& p) { return frame.drawable(p); });
  return kept;
}

void draw_reference(std::string& out, const Chart& chart, const Frame& frame) {
  const auto to = std::back_inserter(out);
  if (chart.level && frame.y.drawable(*chart.level)) {
    fmt::format_to(to, "<path class=\"level\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", frame.left,
                   frame.py(*chart.level), kWidth - kRight);
  }
  if (!chart.diagonal) return;
  const double low = std::max(frame.x.low(), frame.y.low());
  const double high = std::min(frame.x.high(), frame.y.high());
  fmt::format_to(to, "<path class=\"level\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", frame.px(low),
                 frame.py(low), frame.px(high), frame.py(high));
}

// How far series `i` stands beside its x, where series would otherwise lie over each other.
double aside(const Chart& chart, std::size_t i) {
  if (!chart.side_by_side) return 0;
  constexpr double kStep = 6;
  return kStep * (static_cast<double>(i) - 0.5 * static_cast<double>(chart.series.size() - 1));
}

struct Drawing {
  std::string body;
  double height = 0;
};

Drawing draw(const Chart& chart) {
  const Frame frame = frame_of(chart);
  Drawing drawing;
  std::string& out = drawing.body;
  out += "<title>" + xml(chart.title) + "</title>\n";
  out +=
      R"(<text class="title" x="8" y="18">)" + xml(fitted(chart.title, kWidth - 16)) + "</text>\n";
  draw_axes(out, chart, frame);
  draw_reference(out, chart, frame);
  for (const bool bands : {true, false}) {  // bands lie under every line
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "<g class=\"s{}\">\n", i % kMostSeries);
      const std::vector<ChartPoint> line = drawable(frame, chart.series[i].line);
      if (bands) {
        draw_band(out, frame, line);
      } else {
        draw_line(out, frame, line, i);
        draw_marks(out, frame, drawable(frame, chart.series[i].marks), i, aside(chart, i));
      }
      out += "</g>\n";
    }
  }
  const Legend legend = legend_of(chart, kWidth);
  const double top = kTop + kPlotHeight + kTickRoom;
  fmt::format_to(std::back_inserter(out), "<g transform=\"translate(0 {:.1f})\">\n{}</g>\n", top,
                 legend.svg);
  drawing.height = top + legend.height;
  return drawing;
}

}  // namespace

std::string svg_element(const Chart& chart) {
  const Drawing drawing = draw(chart);
  return fmt::format(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "role=\"img\">\n{}</svg>\n",
      kWidth, drawing.height, drawing.body);
}

std::string svg_file(std::span<const Chart> charts) {
  const std::size_t columns = charts.size() < 2 ? 1 : 2;
  std::string body;
  double y = 0;
  for (std::size_t begin = 0; begin < charts.size(); begin += columns) {
    double height = 0;
    for (std::size_t i = begin; i < std::min(begin + columns, charts.size()); ++i) {
      const Drawing drawing = draw(charts[i]);
      fmt::format_to(std::back_inserter(body),
                     "<g transform=\"translate({:.0f} {:.0f})\">\n{}</g>\n",
                     kWidth * static_cast<double>(i - begin), y, drawing.body);
      height = std::max(height, drawing.height);
    }
    y += height + 12;
  }
  const double width = kWidth * static_cast<double>(columns);
  return fmt::format(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>\n{2}</style>\n"
      "<rect class=\"page\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
      width, y, chart_style(), body);
}

}  // namespace ddpx::report
