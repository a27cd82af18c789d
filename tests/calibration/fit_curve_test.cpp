#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calibration/fit.hpp"
#include "model/error.hpp"

namespace ddpx {
namespace {

struct TrueLine {
  double latency;
  double bandwidth;
};

double fastest(const std::vector<TrueLine>& lines, double bytes) {
  double best = 1e300;
  for (const TrueLine& l : lines) best = std::min(best, l.latency + bytes / l.bandwidth);
  return best;
}

std::vector<CurvePoint> sweep(const std::vector<TrueLine>& lines, double noise, unsigned seed,
                              double from = 1024, double to = 1.1e9) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<CurvePoint> points;
  for (double bytes = from; bytes <= to; bytes *= 2) {
    points.push_back(
        {Bytes(bytes), Seconds(fastest(lines, bytes) * (1 + noise * normal(engine))), false, ""});
  }
  return points;
}

TEST(FitCurve, OneNoiselessLineIsFoundExactly) {
  const CurveFit fit = fit_curve(sweep({{10e-6, 25e9}}, 0, 1));
  ASSERT_EQ(fit.lines.size(), 1U);
  EXPECT_NEAR(fit.lines[0].latency.value.value(), 10e-6, 1e-10);
  EXPECT_NEAR(fit.lines[0].bandwidth.value.value(), 25e9, 1e5);
  EXPECT_LT(fit.residual, 1e-6);
}

TEST(FitCurve, TwoProtocolsAreFoundWithTheirCrossing) {
  const CurveFit fit = fit_curve(sweep({{8e-6, 70e9}, {27e-6, 300e9}}, 0, 1));
  ASSERT_EQ(fit.lines.size(), 2U);
  EXPECT_NEAR(fit.lines[0].latency.value.value(), 8e-6, 0.1e-6);
  EXPECT_NEAR(fit.lines[1].bandwidth.value.value(), 300e9, 1e9);
}

TEST(FitCurve, ASlopeLostInTheNoiseIsABoundOfTheBandwidthAndNoFigure) {
  // Latency alone: what grows with the size is a thousandth of what repeats differ by.
  const double times[] = {8.30, 8.36, 8.42, 8.34, 8.36, 8.361};
  std::vector<CurvePoint> points;
  double bytes = 8;
  for (const double time : times)
    points.push_back({Bytes(bytes *= 2), Seconds(time * 1e-6), false, ""});
  const CurveFit fit = fit_curve(points);
  for (const ProtocolLine& line : fit.lines) {
    EXPECT_LE(line.bandwidth.relative_error, 10);
    EXPECT_LE(line.latency.relative_error, 10);
    EXPECT_NEAR(line.latency.value.value(), 8.36e-6, 0.2e-6);
  }
}

// A statistical promise is checked over many draws: the share of truths within two standard errors
// must be near 95 %.
TEST(FitCurve, TheTruthLiesWithinTwoStandardErrorsAsOftenAsItShould) {
  int inside = 0;
  int total = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const CurveFit fit = fit_curve(sweep({{10e-6, 25e9}}, 0.02, seed));
    if (fit.lines.size() != 1) continue;
    const ProtocolLine& line = fit.lines[0];
    const auto within = [](double value, double truth, double relative_error) {
      return std::abs(value - truth) <= 2 * relative_error * value;
    };
    inside += within(line.latency.value.value(), 10e-6, line.latency.relative_error);
    inside += within(line.bandwidth.value.value(), 25e9, line.bandwidth.relative_error);
    total += 2;
  }
  ASSERT_GE(total, 300);
  EXPECT_GE(static_cast<double>(inside) / total, 0.88);
}

TEST(FitCurve, NoiseAloneDoesNotMakeASecondLine) {
  int single = 0;
  for (unsigned seed = 1; seed <= 100; ++seed)
    single += fit_curve(sweep({{10e-6, 25e9}}, 0.02, seed)).lines.size() == 1;
  EXPECT_GE(single, 85);
}

TEST(FitCurve, APointFarOffItsNeighboursIsFlaggedAndTheFitUnmoved) {
  std::vector<CurvePoint> points = sweep({{50e-6, 4e9}}, 0, 1);
  points[9].time *= 1.5;  // as the two-T4 study's 512 KiB all-reduce
  const CurveFit fit = fit_curve(points);
  EXPECT_TRUE(fit.points[9].misfit);
  EXPECT_FALSE(fit.points[9].reason.empty());
  EXPECT_NEAR(fit.lines.back().bandwidth.value.value(), 4e9, 4e6);
  std::size_t flagged = 0;
  for (const CurvePoint& p : fit.points) flagged += p.misfit;
  EXPECT_EQ(flagged, 1U);
}

TEST(FitCurve, AColdStartIsFlagged) {
  std::vector<CurvePoint> points = sweep({{45e-6, 4e9}}, 0, 1, 4096);
  points[0].time = Seconds(94e-6);
  points[1].time = Seconds(81e-6);
  const CurveFit fit = fit_curve(points);
  EXPECT_TRUE(fit.points[0].misfit);
  EXPECT_TRUE(fit.points[1].misfit);
  EXPECT_FALSE(fit.points[2].misfit);
}

TEST(FitCurve, UnsortedPointsGiveTheSameFit) {
  std::vector<CurvePoint> points = sweep({{8e-6, 70e9}, {27e-6, 300e9}}, 0.01, 3);
  const CurveFit sorted = fit_curve(points);
  std::shuffle(points.begin(), points.end(), std::mt19937_64(5));
  const CurveFit shuffled = fit_curve(points);
  ASSERT_EQ(sorted.lines.size(), shuffled.lines.size());
  for (std::size_t i = 0; i < sorted.lines.size(); ++i) {
    EXPECT_EQ(sorted.lines[i].latency.value, shuffled.lines[i].latency.value);
    EXPECT_EQ(sorted.lines[i].bandwidth.value, shuffled.lines[i].bandwidth.value);
  }
}

TEST(FitCurve, OneOrTwoSizesGiveABandwidthAndAnUnknownLatency) {
  const CurveFit fit = fit_curve(std::vector<CurvePoint>{{Bytes(1e9), Seconds(0.04), false, ""}});
  ASSERT_EQ(fit.lines.size(), 1U);
  EXPECT_NEAR(fit.lines[0].bandwidth.value.value(), 25e9, 1);
  EXPECT_GE(fit.lines[0].latency.relative_error, 1.0);
}

TEST(FitCurve, NoPointIsAnError) { EXPECT_THROW((void)fit_curve({}), InputError); }

TEST(FitCurve, BandwidthThatCollapsesWithSizeIsKept) {
  // Bus bandwidth 29.5 GB/s to 64 MiB, then 5.3: congestion, not a misfit.
  std::vector<CurvePoint> points;
  for (double bytes = 1 << 20; bytes <= 1 << 29; bytes *= 2) {
    points.push_back({Bytes(bytes), Seconds(bytes / (bytes > 7e7 ? 5.3e9 : 29.5e9)), false, ""});
  }
  const CurveFit fit = fit_curve(points);
  for (const CurvePoint& p : fit.points) EXPECT_FALSE(p.misfit) << p.bytes.value();
}

// NCCL's rounds: each size once as it is and once with a little more, which takes a round more.
TEST(FitCurve, SizesTimedWithALittleMoreAreKeptAndPricedAsMeasured) {
  const auto time = [](double bytes) {
    const double rounds = std::ceil(bytes / (1 << 24));
    return Seconds(40e-6 + 25e-6 * rounds + bytes / 28e9 + (bytes > 1 << 19 ? 60e-6 : 0));
  };
  std::vector<CurvePoint> points;
  for (double bytes = 4096; bytes <= 1 << 28; bytes *= 2) {
    points.push_back({Bytes(bytes), time(bytes), false, ""});
    if (bytes >= 1 << 18)
      points.push_back({Bytes(bytes * 4097 / 4096), time(bytes * 4097 / 4096), false, ""});
  }
  const CurveFit fit = fit_curve(points);
  for (const CurvePoint& p : fit.points) EXPECT_FALSE(p.misfit) << p.bytes.value();
  const Curve curve({Collective::all_reduce, DType::fp32, Bytes{}, 2}, fit.lines, fit.points);
  for (const double bytes : {16793600.0, 67125248.0, 26214400.0, 4198400.0, 16777216.0}) {
    EXPECT_NEAR(curve.at(Bytes(bytes)) / time(bytes), 1, 0.02) << bytes;
  }
}

}  // namespace
}  // namespace ddpx
