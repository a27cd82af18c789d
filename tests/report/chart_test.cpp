#include "report/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/legend.hpp"
#include "tests/report/well_formed.hpp"
#include "tests/support/golden.hpp"

namespace ddpx::report {
namespace {

using test::WellFormed;
using testing::HasSubstr;
using testing::Not;

Chart small_chart() {
  Chart chart;
  chart.title = "Speedup: ddp";
  chart.x = {"parameters", Scale::logarithmic, AxisUnit::count, {}, {}};
  chart.y = {"speedup", Scale::linear, AxisUnit::plain, 0.0, {}};
  chart.level = 1.0;
  chart.level_label = "break-even";
  chart.series = {{"batch 64",
                   {{1e6, 1.5, 1.4, 1.6}, {1e7, 0.8, 0.7, 0.9}},
                   {{1e6, 1.45, 1.45, 1.45}, {1e7, 0.85, 0.8, 0.9}}},
                  {"batch 256", {{1e6, 1.9, 1.8, 2.0}, {1e7, 1.4, 1.3, 1.5}}, {}}};
  return chart;
}

TEST(Chart, matches_its_golden_file) {
  test::expect_golden("chart.svg", svg_file(std::vector{small_chart()}));
}

TEST(Chart, is_well_formed_alone_and_in_a_file) {
  EXPECT_EQ(WellFormed::complaint(svg_element(small_chart())), "");
  EXPECT_EQ(
      WellFormed::complaint(svg_file(std::vector{small_chart(), small_chart(), small_chart()})),
      "");
  EXPECT_EQ(WellFormed::complaint(svg_file({})), "");
}

TEST(Chart, hostile_labels_stay_text) {
  Chart chart = small_chart();
  chart.title = chart.x.label = chart.series[0].label = chart.level_label =
      "<script>alert(1)</script>&\"\n\x01";
  const std::string svg = svg_file(std::vector{chart});
  EXPECT_EQ(WellFormed::complaint(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(Chart, points_that_cannot_be_drawn_are_left_out) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Chart chart = small_chart();
  chart.series.push_back({"broken",
                          {{nan, 1, 1, 1},
                           {1e6, nan, nan, nan},
                           {-1, 1, 1, 1},
                           {0, 1, 1, 1},
                           {1e6, infinity, 1, infinity},
                           {1e6, 1, nan, infinity}},
                          {{1e6, nan, nan, nan}}});
  const std::string svg = svg_element(chart);
  EXPECT_EQ(WellFormed::complaint(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Chart, without_data_is_still_a_chart) {
  Chart chart;
  chart.x.scale = Scale::logarithmic;
  EXPECT_EQ(WellFormed::complaint(svg_element(chart)), "");
}

TEST(Legend, names_every_series_and_what_lines_and_marks_mean) {
  const std::string svg = svg_element(small_chart());
  for (const char* words :
       {"batch 64", "batch 256", "break-even", "forecast, 90 % interval", "measured"}) {
    EXPECT_THAT(svg, HasSubstr(words));
  }
}

TEST(Legend, wraps_long_entries_below_each_other) {
  Chart chart = small_chart();
  const double two = legend_of(chart, 420).height;
  for (int i = 0; i < 6; ++i)
    chart.series.push_back(
        {"a rather long name of a sweep, number " + std::to_string(i), chart.series[0].line, {}});
  EXPECT_GE(legend_of(chart, 420).height, two + 5 * 19);
}

TEST(Legend, cuts_a_name_that_does_not_fit_at_a_character) {
  EXPECT_EQ(fitted("short", 400), "short");
  const std::string cut = fitted(std::string(200, 'x'), 73);
  EXPECT_EQ(cut, std::string(9, 'x') + "…");
  EXPECT_EQ(fitted("éééééééééééé", 37), "éééé…");
}

TEST(Series, are_told_apart_by_marker_and_dash_as_well_as_colour) {
  for (std::size_t i = 0; i < kMostSeries; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(dash(i), dash(j));
      EXPECT_NE(marker(i, 0, 0), marker(j, 0, 0));
    }
  }
}

}  // namespace
}  // namespace ddpx::report
