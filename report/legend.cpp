#include "report/legend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/escape.hpp"

namespace ddpx::report {
namespace {

// A generous mean width of a character at 12 px in the widest font of the style sheet (DejaVu
// Sans).
constexpr double kCharacter = 7.2;
constexpr double kRow = 19;
constexpr double kSample = 30;  // line and marker before a label
constexpr double kGap = 14;
constexpr double kMargin = 10;

constexpr std::array<std::string_view, kMostSeries> kDashes{
    "none", "7 3", "2 3", "9 3 2 3", "12 4", "1 4", "5 2 1 2 1 2", "14 3 4 3"};

// Okabe & Ito's colours (jfly.uni-koeln.de/color), without black and yellow that one of the pages
// swallows; lighter on a dark page.
constexpr std::array<std::string_view, kMostSeries> kLight{
    "#0072b2", "#d55e00", "#009e73", "#a8508a", "#b07a00", "#2f93c9", "#6b6b6b", "#5b3a8c"};
constexpr std::array<std::string_view, kMostSeries> kDark{
    "#4aa8e8", "#ff8a3d", "#1fc99b", "#e69fcb", "#f0b429", "#8fd0f5", "#b0b0b0", "#b79be0"};

// Code points, not bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Places entries from left to right and begins a row where the next would not fit.
class Rows {
 public:
  explicit Rows(double width) : width_(width) {}

  void add(std::string_view group, std::string_view sample, std::string_view label) {
    const std::string text = fitted(label, width_ - 2 * kMargin - kSample);
    const double room = kSample + kCharacter * static_cast<double>(characters(text));
    if (x_ > kMargin && x_ + room > width_ - kMargin) {
      x_ = kMargin;
      y_ += kRow;
    }
    fmt::format_to(std::back_inserter(svg_),
                   "<g class=\"{}\" transform=\"translate({:.1f} {:.1f})\">{}<text x=\"{:.0f}\" "
                   "y=\"4\">{}</text></g>\n",
                   group, x_, y_, sample, kSample - 4, xml(text));
    x_ += room + kGap;
  }

  [[nodiscard]] Legend legend() const { return {svg_, svg_.empty() ? 0.0 : y_ + kRow}; }

 private:
  double width_;
  double x_ = kMargin;
  double y_ = kRow / 2;
  std::string svg_;
};

bool has(const Chart& chart, std::vector<ChartPoint> ChartSeries::*points) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [&](const ChartSeries& series) { return !(series.*points).empty(); });
}

bool has_band(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(), [](const ChartSeries& series) {
    return std::any_of(series.line.begin(), series.line.end(),
                       [](const ChartPoint& p) { return p.low < p.high; });
  });
}

}  // namespace

std::string_view dash(std::size_t index) { return kDashes[index % kMostSeries]; }

std::string marker(std::size_t index, double x, double y) {
  const auto path = [&](std::string_view d, std::string_view style) {
    return fmt::format("<path class=\"{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\"/>",
                       style, x, y, d);
  };
  switch (index % kMostSeries) {
    case 0:
      return fmt::format(R"(<circle class="mark" cx="{:.1f}" cy="{:.1f}" r="3.6"/>)", x, y);
    case 1:
      return path("M-3.3-3.3h6.6v6.6h-6.6Z", "mark");
    case 2:
      return path("M0-4.4 4 3.2H-4Z", "mark");
    case 3:
      return path("M0-4.8 4 0 0 4.8-4 0Z", "mark");
    case 4:
      return path("M0 4.4 4-3.2H-4Z", "mark");
    case 5:
      return path("M-4 0H4M0-4V4", "cross");
    case 6:
      return path("M-3.3-3.3 3.3 3.3M-3.3 3.3 3.3-3.3", "cross");
    default:
      return path("M-2-4H2L4.2 0 2 4H-2L-4.2 0Z", "mark");
  }
}

std::string fitted(std::string_view text, double width) {
  const auto room = static_cast<std::size_t>(std::max(1.0, width / kCharacter));
  if (characters(text) <= room) return std::string(text);
  std::size_t end = 0;
  for (std::size_t kept = 0; kept + 1 < room && end < text.size(); ++kept) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  }
  return std::string(text.substr(0, end)) + "\u2026";
}

Legend legend_of(const Chart& chart, double width) {
  Rows rows(width);
  const bool lines = has(chart, &ChartSeries::line);
  const bool marks = has(chart, &ChartSeries::marks);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string sample;
    if (lines)
      sample += fmt::format(R"(<path class="line" stroke-dasharray="{}" d="M0 0H22"/>)", dash(i));
    if (marks) sample += marker(i, 11, 0);
    rows.add(fmt::format("s{}", i % kMostSeries), sample, chart.series[i].label);
  }
  if (chart.level || chart.diagonal) {
    rows.add("note", R"(<path class="level" d="M0 0H22"/>)", chart.level_label);
  }
  if (lines && !chart.line_meaning.empty()) {
    const std::string band =
        has_band(chart) ? R"(<rect class="band" y="-5" width="22" height="10"/>)" : "";
    rows.add("note", band + R"(<path class="line" d="M0 0H22"/>)", chart.line_meaning);
  }
  if (marks && !chart.mark_meaning.empty()) rows.add("note", marker(0, 11, 0), chart.mark_meaning);
  return rows.legend();
}

std::string chart_style() {
  std::string style =
      ".chart{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
      ".chart text{fill:#24292f}\n"
      ".chart .title{font-weight:600;font-size:13px}\n"
      ".chart .page{fill:#fff}\n"
      ".chart .grid{stroke:#d8dee4;fill:none}\n"
      ".chart .axis{stroke:#57606a;fill:none}\n"
      ".chart .level{stroke:#24292f;stroke-width:1.4;stroke-dasharray:4 3;fill:none}\n"
      ".chart .note{color:#57606a}\n"
      ".chart .line{stroke:currentColor;stroke-width:1.8;fill:none}\n"
      ".chart .band{fill:currentColor;opacity:.16}\n"
      ".chart .whisker{stroke:currentColor;stroke-width:1.2;opacity:.7;fill:none}\n"
      ".chart .mark{fill:currentColor;stroke:none}\n"
      ".chart .cross{stroke:currentColor;stroke-width:2;fill:none}\n";
  std::string dark =
      ".chart text{fill:#e6edf3}\n"
      ".chart .page{fill:#0d1117}\n"
      ".chart .grid{stroke:#30363d}\n"
      ".chart .axis{stroke:#8b949e}\n"
      ".chart .level{stroke:#e6edf3}\n"
      ".chart .note{color:#8b949e}\n";
  for (std::size_t i = 0; i < kMostSeries; ++i) {
    style += fmt::format(".chart .s{}{{color:{}}}\n", i, kLight[i]);
    dark += fmt::format(".chart .s{}{{color:{}}}\n", i, kDark[i]);
  }
  return style + "@media (prefers-color-scheme:dark){\n" + dark + "}\n";
}

}  // namespace ddpx::report
