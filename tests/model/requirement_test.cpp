#include "model/requirement.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "model/scaled_link.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::expect_input_error;

TEST(Requirements, are_read_and_written) {
  EXPECT_EQ(describe(parse_requirement("--require", "speedup=1.8")), "speedup=1.8");
  EXPECT_EQ(describe(parse_requirement("--require", "efficiency=90%")), "efficiency=0.9");
  EXPECT_EQ(describe(parse_requirement("--require", "communication-share=20%")),
            "communication-share=0.2");
  EXPECT_TRUE(parse_requirement("-", "speedup=1.8").met_by(1.8));
  EXPECT_FALSE(parse_requirement("-", "communication-share=0.2").met_by(0.21));
}

TEST(Requirements, that_are_none_say_what_is_accepted) {
  for (const char* text : {"", "speedup", "speedup=", "speedup=x", "speedup=1.8x", "speedup= 1.8",
                           "speedup=180%", "Speedup=1.8", "speedup=nan", "latency=3", "=1",
                           "efficiency=0.9%%", "\xff=1", "speedup=1.8,efficiency=1"}) {
    expect_input_error([&] { static_cast<void>(parse_requirement("--require", text)); },
                       {"--require"});
  }
  for (const char* text :
       {"speedup=0", "speedup=-1", "speedup=1e30", "speedup=inf", "efficiency=1.5", "efficiency=0",
        "communication-share=101%", "efficiency=-90%"}) {
    expect_input_error([&] { static_cast<void>(parse_requirement("--require", text)); },
                       {"--require", "out of range"});
  }
  std::mt19937_64 random(5);
  const std::string alphabet = "speduficny=0.19%-x\n\0\xff";
  for (int round = 0; round < 5000; ++round) {
    std::string text = round % 2 == 0 ? "speedup=" : "";
    for (auto n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
    try {
      const Requirement r = parse_requirement("--require", text);
      EXPECT_EQ(parse_requirement("-", describe(r)).value, r.value);
    } catch (const InputError&) {
    }
  }
}

TEST(Solutions, lie_on_the_side_that_meets_within_a_thousandth) {
  const Requirement r{Metric::speedup, 1.8};
  const auto f = [](double x) { return 2 * x / (x + 1); };  // 1.8 at 9
  const Solution s = solve(r, {1e-3, 1e3, 1, 0}, f);
  EXPECT_EQ(s.outcome, Outcome::boundary);
  EXPECT_TRUE(s.at_least);
  EXPECT_GE(f(s.value), 1.8);
  EXPECT_NEAR(f(s.value), 1.8, 1.8e-3);
  const Solution whole = solve(r, {1, 1000, 4, 1}, [&](double x) { return f(x - 0.5); });
  EXPECT_EQ(whole.value, 10);
  const Solution grained = solve(r, {4, 4000, 4, 4}, f);
  EXPECT_EQ(grained.value, 12);
}

TEST(Solutions, are_the_boundary_nearest_to_now) {
  // Met from 10 to 100.
  const auto f = [](double x) { return x >= 10 && x <= 100 ? 2.0 : 1.0; };
  const Requirement r{Metric::speedup, 1.5};
  EXPECT_NEAR(solve(r, {1, 1000, 2, 0}, f).value, 10, 1e-3);
  EXPECT_NEAR(solve(r, {1, 1000, 900, 0}, f).value, 100, 1e-2);
  EXPECT_FALSE(solve(r, {1, 1000, 900, 0}, f).at_least);
}

TEST(Solutions, hold_every_range_that_meets_the_requirement) {
  // Met up to 3, from 10 to 100 and from 500 on.
  const auto f = [](double x) { return x <= 3 || (x >= 10 && x <= 100) || x >= 500 ? 2.0 : 1.0; };
  const Requirement r{Metric::speedup, 1.5};
  const std::vector<MetRange> ranges = solve(r, {1, 1000, 900, 0}, f).ranges;
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_FALSE(ranges[0].from);
  EXPECT_NEAR(*ranges[0].to, 3, 1e-3);
  EXPECT_NEAR(*ranges[1].from, 10, 1e-3);
  EXPECT_NEAR(*ranges[1].to, 100, 1e-2);
  EXPECT_NEAR(*ranges[2].from, 500, 0.1);
  EXPECT_FALSE(ranges[2].to);
  const std::vector<MetRange> whole = solve(r, {1, 40, 20, 1}, f).ranges;
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[0].to, 3);
  EXPECT_EQ(whole[1].from, 10);
  EXPECT_TRUE(solve(r, {11, 50, 20, 0}, f).ranges.empty());
}

TEST(Solutions, that_are_none_say_the_best_or_that_all_will_do) {
  const Requirement r{Metric::communication_share, 0.2};
  const Solution never = solve(r, {1, 64, 1, 1}, [](double x) { return 0.3 + 1 / x; });
  EXPECT_EQ(never.outcome, Outcome::never);
  EXPECT_EQ(never.value, 64);
  EXPECT_EQ(solve(r, {1, 64, 1, 1}, [](double) { return 0.1; }).outcome, Outcome::always);
}

TEST(UsefulGpus, stop_where_throughput_does_and_where_a_gpu_adds_half) {
  const UsefulGpus u = useful_gpus({1, 1.9, 2.5, 2.8, 2.7, 2.75});
  EXPECT_EQ(u.most, 4);
  EXPECT_FALSE(u.most_is_last);
  EXPECT_FALSE(u.dips);
  EXPECT_EQ(u.half, 3);
  EXPECT_TRUE(useful_gpus({1, 2, 3}).most_is_last);
  // A count that does badly (a wave more, a slow pair) says nothing of larger ones.
  const UsefulGpus dips = useful_gpus({1, 0.8, 1.6, 2.4, 2.3});
  EXPECT_EQ(dips.most, 4);
  EXPECT_TRUE(dips.dips);
  EXPECT_EQ(dips.half, 1);
  EXPECT_EQ(useful_gpus({1, 0.6}).most, 1);
  EXPECT_FALSE(useful_gpus({1, 0.6}).dips) << "nothing lies on the way";
  EXPECT_EQ(useful_gpus({}).most, 1);
  // What a loader paces is the same on any count, but for the order of sums.
  const UsefulGpus paced = useful_gpus({1, 1 - 1e-16, 1 + 2e-16, 1});
  EXPECT_EQ(paced.most, 1);
  EXPECT_FALSE(paced.dips);
}

TEST(ScaledLinks, move_lines_by_their_bandwidth_or_their_latency) {
  const Link link = test::line_link(1e-5, 1e9);
  const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(1e6), 2};
  EXPECT_NEAR(price(with_bandwidth(link, 4), call).time.value(), 1e-5 + 1e6 / 4e9, 1e-12);
  EXPECT_NEAR(price(with_latency(link, 4), call).time.value(), 4e-5 + 1e6 / 1e9, 1e-12);
  EXPECT_DOUBLE_EQ(with_bandwidth(link, 3).bus_bandwidth().value(),
                   3 * link.bus_bandwidth().value());
}

TEST(ScaledLinks, move_measured_curves_as_a_whole) {
  Link link = test::line_link(1e-5, 1e9);
  for (Curve& curve : link.curves) {
    std::vector<CurvePoint> points;
    for (double bytes = 1024; bytes < 1e9; bytes *= 2)
      points.push_back({Bytes(bytes), Seconds(1e-5 + bytes / 1e9), false, ""});
    curve = Curve({curve.kind, DType::fp32, Bytes{}, 2}, {}, points);
  }
  for (double bytes : {1e4, 1e6, 3e7}) {
    const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(bytes), 2};
    EXPECT_NEAR(price(with_bandwidth(link, 4), call).time.value() / (1e-5 + bytes / 4e9), 1, 0.02);
    EXPECT_LE(price(with_latency(link, 0.5), call).time, price(link, call).time);
  }
  for (double factor : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity()}) {
    expect_input_error([&] { static_cast<void>(with_bandwidth(link, factor)); }, {"positive"});
    expect_input_error([&] { static_cast<void>(with_latency(link, factor)); }, {"positive"});
  }
}

}  // namespace
}  // namespace ddpx
