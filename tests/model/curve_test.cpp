#include "model/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

const CollectiveCall kCall{Collective::all_reduce, DType::fp32, Bytes{}, 4};

CurvePoint point_at(double bytes, double seconds) {
  return {Bytes(bytes), Seconds(seconds), false, ""};
}
ProtocolLine line(double latency, double bandwidth) {
  return {{Seconds(latency), 0, ""}, {BytesPerSecond(bandwidth), 0, ""}};
}
double seconds(const Curve& curve, double bytes) { return curve.at(Bytes(bytes)).value(); }

// Given out of order on purpose: a curve sorts its points.
const Curve& dense() {
  static const Curve kCurve(
      kCall, {line(1, 1)},
      {point_at(1e6, 8e-5), point_at(1e3, 1e-5), point_at(1e4, 2e-5), point_at(1e5, 4e-5)});
  return kCurve;
}

TEST(Curves, a_measured_size_has_its_measured_time) {
  for (const CurvePoint& point : dense().points()) {
    EXPECT_NEAR(dense().at(point.bytes).value(), point.time.value(), 1e-12 * point.time.value());
  }
}

// One protocol, 10 us + bytes / 10 GB/s, at every power of 4: halfway in log size log-log
// interpolation is up to 25 % high (the arithmetic over the geometric mean of 1 and 4).
TEST(Curves, between_points_of_one_protocol_the_time_is_nearly_its_line) {
  const auto protocol = [](double bytes) { return 1e-5 + bytes / 1e10; };
  std::vector<CurvePoint> points;
  for (double bytes = 4096; bytes <= 1e9; bytes *= 4)
    points.push_back(point_at(bytes, protocol(bytes)));
  const Curve curve(kCall, {}, points);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double bytes = 2 * points[i - 1].bytes.value();
    const double straight =
        std::sqrt(points[i - 1].time.value() * points[i].time.value()) / protocol(bytes) - 1;
    EXPECT_LE(std::abs(seconds(curve, bytes) / protocol(bytes) - 1), 0.16 * straight + 1e-12);
  }
}

TEST(Curves, between_points_the_time_stays_between_theirs) {
  // A protocol change: the local line would leave the gap.
  const Curve curve(
      kCall, {},
      {point_at(1e4, 1e-5), point_at(2e4, 1.1e-5), point_at(4e4, 1.2e-5), point_at(8e4, 9e-5),
       point_at(16e4, 9.1e-5), point_at(32e4, 5e-5), point_at(64e4, 2e-4)});
  for (std::size_t i = 1; i < curve.points().size(); ++i) {
    const CurvePoint& a = curve.points()[i - 1];
    const CurvePoint& b = curve.points()[i];
    for (double f = 0; f <= 1; f += 0.01) {
      const double time = seconds(curve, a.bytes.value() * std::pow(b.bytes / a.bytes, f));
      EXPECT_GE(time, std::min(a.time, b.time).value() * (1 - 1e-12));
      EXPECT_LE(time, std::max(a.time, b.time).value() * (1 + 1e-12));
    }
  }
}

TEST(Curves, below_the_smallest_size_the_time_stays) {
  EXPECT_DOUBLE_EQ(seconds(dense(), 4), 1e-5);
  EXPECT_DOUBLE_EQ(seconds(dense(), 0), 1e-5);
}

TEST(Curves, above_the_largest_size_the_time_grows_at_the_last_bandwidth) {
  // 10 us + bytes / 10 GB/s to the end.
  const Curve curve(
      kCall, {},
      {point_at(1e4, 1.1e-5), point_at(1e5, 2e-5), point_at(1e6, 1.1e-4), point_at(1e7, 1.01e-3)});
  EXPECT_NEAR(seconds(curve, 1e8), 1e-5 + 1e-2, 1e-8);
  EXPECT_NEAR(seconds(curve, 1e10), 1e-5 + 1, 1e-6);
}

TEST(Curves, a_falling_last_segment_does_not_extrapolate_to_shorter_times) {
  const Curve curve(
      kCall, {},
      {point_at(1e3, 1e-5), point_at(1e4, 2e-5), point_at(1e5, 4e-5), point_at(1e6, 3e-5)});
  EXPECT_NEAR(seconds(curve, 2e6), 6e-5, 1e-15);  // the last point's bandwidth
}

TEST(Curves, few_points_leave_the_price_to_the_cheapest_protocol_line) {
  const Curve curve(kCall, {line(1e-5, 1e9), line(3e-5, 1e10)},
                    {point_at(1e3, 1), point_at(1e4, 1), point_at(1e5, 1)});
  EXPECT_DOUBLE_EQ(seconds(curve, 1e3), 1e-5 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(curve, 1e6), 3e-5 + 1e-4);
  EXPECT_DOUBLE_EQ(seconds(curve, 0), 1e-5);
}

TEST(Curves, few_points_without_lines_are_interpolated) {
  const Curve two(kCall, {}, {point_at(1e3, 1e-5), point_at(1e5, 1e-3)});
  EXPECT_NEAR(seconds(two, 1e4), 1e-4, 1e-16);
  const Curve one(kCall, {}, {point_at(1e3, 1e-5)});
  EXPECT_NEAR(seconds(one, 10), 1e-5, 1e-17);
  EXPECT_NEAR(seconds(one, 1e6), 1e-2, 1e-14);
}

TEST(Curves, misfits_are_kept_but_price_nothing) {
  CurvePoint wrong = point_at(3e4, 9);
  wrong.misfit = true;
  wrong.reason = "300000 times its neighbours";
  const Curve curve(
      kCall, {},
      {point_at(1e3, 1e-5), point_at(1e4, 2e-5), wrong, point_at(1e5, 4e-5), point_at(1e6, 8e-5)});
  EXPECT_EQ(curve.points().size(), 5U);
  EXPECT_DOUBLE_EQ(seconds(curve, 3e4), seconds(dense(), 3e4));
  EXPECT_EQ(curve.peak_bus_bandwidth(), dense().peak_bus_bandwidth());
}

TEST(Curves, say_whether_a_size_was_measured) {
  EXPECT_FALSE(dense().extrapolates(Bytes(1e3)));
  EXPECT_FALSE(dense().extrapolates(Bytes(1e6)));
  EXPECT_TRUE(dense().extrapolates(Bytes(900)));
  EXPECT_TRUE(dense().extrapolates(Bytes(2e6)));
}

TEST(Curves, peak_bus_bandwidth_counts_the_rings_volume) {
  // 4 ranks: 2 * 3/4 of 1e6 B / 80 us.
  EXPECT_DOUBLE_EQ(dense().peak_bus_bandwidth().value(), 1.5 * 1e6 / 8e-5);
  const Curve lines(kCall, {line(1e-5, 1e9), line(3e-5, 1e10)}, {});
  EXPECT_DOUBLE_EQ(lines.peak_bus_bandwidth().value(), 1.5e10);
}

TEST(Curves, the_smallest_time_is_the_first_points_or_the_lowest_latency) {
  EXPECT_DOUBLE_EQ(dense().smallest_time().value(), 1e-5);
  EXPECT_DOUBLE_EQ(Curve(kCall, {line(3e-5, 1e10), line(1e-5, 1e9)}, {}).smallest_time().value(),
                   1e-5);
}

// 10 us and 10 GB/s on two ranks, where bus bandwidth is bytes over time: of 10 kB a tenth is the
// transfer's, of 1 MB nine tenths. A single size is all bandwidth from 1 MiB on, all latency below.
TEST(Curves, latency_is_read_of_sizes_that_show_one) {
  const auto from = [](double least) {
    std::vector<CurvePoint> points;
    for (double bytes = least; bytes <= 1e9; bytes *= 10)
      points.push_back(point_at(bytes, 1e-5 + bytes / 1e10));
    return Curve({Collective::all_reduce, DType::fp32, Bytes{}, 2}, {}, points);
  };
  EXPECT_NEAR(from(1e4).latency().value_or(Seconds{}).value(), 1e-5, 1e-8);
  EXPECT_EQ(from(1e6).latency(), std::nullopt);
  EXPECT_TRUE(from(1e6).shows_bandwidth());
  const auto only = [](double bytes) { return Curve(kCall, {}, {point_at(bytes, 2e-5)}); };
  EXPECT_NEAR(only(1024).latency().value_or(Seconds{}).value(), 2e-5, 1e-15);
  EXPECT_FALSE(only(1024).shows_bandwidth());
  EXPECT_EQ(only(1 << 20).latency(), std::nullopt);
}

TEST(Curves, time_never_falls_with_size_where_the_points_do_not) {
  double last = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 1.07) {
    const double time = seconds(dense(), bytes);
    ASSERT_GE(time, last);
    last = time;
  }
}

// Latency 10 us and 1 GB/s: at 10 kB each is half of the time.
TEST(Curves, an_error_of_the_latency_counts_with_its_share_of_the_time) {
  Curve curve({Collective::all_reduce, DType::fp32, Bytes{}, 2},
              {ProtocolLine{{Seconds(10e-6), 0, ""}, {BytesPerSecond(1e9), 0, ""}}}, {});
  curve.relative_error = 0.1;
  EXPECT_EQ(curve.error_at(Bytes(1e4)), 0.1);
  curve.latency_error = 0.4;
  EXPECT_NEAR(curve.error_at(Bytes(1)), 0.4, 1e-3);
  EXPECT_NEAR(curve.error_at(Bytes(1e4)), std::hypot(0.05, 0.2), 1e-12);
  EXPECT_NEAR(curve.error_at(Bytes(1e9)), 0.1, 1e-4);
}

TEST(Curves, refuse_points_and_lines_that_cannot_be) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  expect_input_error([] { Curve(kCall, {}, {}); }, {"collective curve", "at least one"});
  for (double bad : {0.0, -1.0, nan, inf}) {
    expect_input_error(
        [&] {
          Curve(kCall, {}, {point_at(1e3, 1e-5), point_at(bad, 1e-5)});
        },
        {"above 0"});
    expect_input_error([&] { Curve(kCall, {}, {point_at(1e3, bad)}); }, {"above 0"});
  }
  for (double bad : {-1.0, nan, inf}) {
    expect_input_error([&] { Curve(kCall, {line(bad, 1e9)}, {}); }, {"latency"});
  }
  for (double bad : {0.0, -1.0, nan}) {
    expect_input_error([&] { Curve(kCall, {line(1e-5, bad)}, {}); }, {"bandwidth"});
  }
  expect_input_error(
      [] {
        Curve(kCall, {}, {point_at(1e3, 1e-5), point_at(2e3, 1e-5), point_at(1e3, 2e-5)});
      },
      {"two points of 1000 bytes"});
  CurvePoint misfit = point_at(1e3, 1e-5);
  misfit.misfit = true;
  expect_input_error([&] { Curve(kCall, {}, {misfit}); }, {"misfit"});
}

}  // namespace
}  // namespace ddpx
