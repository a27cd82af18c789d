// A collective's price on another rank count than the one it is known on.
#include "model/carry_over.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/link.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

using test::by_figures;
using test::call;

TEST(CarryOver, to_another_count_follows_the_rings_volume) {
  Link link = test::line_link(0, 1e9);  // two ranks: 1 GB/s of bus bandwidth
  link.topology = Topology::network;
  for (int n : {4, 8, 64}) {
    const CollectivePrice p = price(link, call(1e9, n));
    EXPECT_NEAR(p.time.value(), 2.0 * (n - 1) / n, 1e-6) << n;
    EXPECT_TRUE(p.extrapolated);
  }
}

// 512 MiB on 2, 4 and 8 A100 of one machine with an NVSwitch (NCCL 2.27.3): all-reduce 2.781, 3.716
// and 4.226 ms, all-gather 1.790, 2.102 and 2.288 ms.
TEST(CarryOver, over_nvlink_meets_public_times_of_more_gpus) {
  Link link;
  link.topology = Topology::nvlink;
  const auto add = [&](Collective kind, double seconds) {
    link.curves.emplace_back(CollectiveCall{kind, DType::fp32, Bytes{}, 2},
                             std::vector<ProtocolLine>{},
                             std::vector<CurvePoint>{{Bytes(512), Seconds(9e-6), false, ""},
                                                     {kMiB * 512, Seconds(seconds), false, ""}});
  };
  add(Collective::all_reduce, 2.7811e-3);
  add(Collective::all_gather, 1.7898e-3);
  const auto seconds = [&](int ranks, Collective kind) {
    return price(link, call(512 * 1048576.0, ranks, kind)).time.value();
  };
  EXPECT_NEAR(seconds(4, Collective::all_reduce), 3.7163e-3, 0.05 * 3.7163e-3);
  EXPECT_NEAR(seconds(8, Collective::all_reduce), 4.2259e-3, 0.05 * 4.2259e-3);
  EXPECT_NEAR(seconds(4, Collective::all_gather), 2.102e-3, 0.05 * 2.102e-3);
  EXPECT_NEAR(seconds(8, Collective::all_gather), 2.288e-3, 0.05 * 2.288e-3);
}

// 1 KiB over NVSwitch, two ranks to four and eight: an all-gather has half an all-reduce's steps
// and the same base, so that it grows less (NCCL src/graph/tuning.cc). H100: all-gather 5.2, 7.1
// and 10.4 us, all-reduce 5.8 and 9.3 us; B300: all-gather 7.8, 10.5 and 15.9, all-reduce 9.7, 14.5
// and 25.0 (NCCL 2.29.2, github.com/ai-dynamo/aiconfigurator at 095f58a).
TEST(CarryOver, a_small_all_gather_grows_less_than_an_all_reduce) {
  const CarryOver& carry = carry_over(Topology::nvlink);
  const auto growth = [&](Collective kind, int ranks) {
    return carried_latency(carry, {kind, 2}, {kind, ranks});
  };
  EXPECT_NEAR(growth(Collective::all_gather, 4), 7.1 / 5.2, 0.1 * 7.1 / 5.2);
  EXPECT_NEAR(growth(Collective::all_gather, 8), 10.4 / 5.2, 0.1 * 10.4 / 5.2);
  EXPECT_NEAR(growth(Collective::all_reduce, 4), 9.3 / 5.8, 0.1 * 9.3 / 5.8);
  EXPECT_NEAR(growth(Collective::all_gather, 8), 15.9 / 7.8, 0.1 * 15.9 / 7.8);
  EXPECT_NEAR(growth(Collective::all_reduce, 8), 25.0 / 9.7, 0.1 * 25.0 / 9.7);
}

// What a curve of large messages does not hold is not carried over: 25 MiB at 96 GB/s of 16 ranks
// take 0.27 ms, on 32 and 128 of them a few percent more, and not what 512 MiB take (5.6 ms).
// Smaller messages take what links of the topology do, with that in the interval.
TEST(CarryOver, a_curve_of_large_messages_keeps_its_bandwidth_and_lends_no_latency) {
  Link link;
  link.topology = Topology::network;
  std::vector<CurvePoint> points;
  for (double bytes = 512 * 1048576.0; bytes < 9e9; bytes *= 2)
    points.push_back({Bytes(bytes), Seconds(38e-6 + bytes / 96e9), false, ""});
  const CollectiveCall of16 = call(0, 16);
  link.curves.emplace_back(
      of16, std::vector<ProtocolLine>{{{Seconds(38e-6), 0, ""}, {BytesPerSecond(96e9), 0, ""}}},
      points);
  const auto priced = [&](double bytes, int ranks) { return price(link, call(bytes, ranks)); };
  const double bucket = 25 * 1048576.0;
  const double measured = priced(bucket, 16).time.value();
  EXPECT_NEAR(measured, 38e-6 + bucket / 96e9, 1e-9);
  for (const int ranks : {15, 17, 32, 128})
    EXPECT_NEAR(priced(bucket, ranks).time.value(), measured, 0.1 * measured) << ranks;
  const Seconds pair = carry_over(Topology::network).pair_latency;
  const CollectivePrice small = priced(8, 32);
  EXPECT_NEAR(small.time / pair, 0.5 + 0.25 * 10, 0.05);  // five levels of a tree, up and down
  EXPECT_GT(small.relative_error, 0.7);
  EXPECT_LT(priced(1e9, 32).relative_error, 0.5);
  // On the measured count likewise, though a line without latency would have nothing.
  link.curves.front() =
      Curve(of16, {{{Seconds{}, 1, ""}, {BytesPerSecond(96e9), 0, ""}}}, {points.front()});
  EXPECT_NEAR(priced(8, 16).time / pair, 0.5 + 0.25 * 8, 1e-9);
  EXPECT_GT(priced(8, 16).relative_error, 0.7);
  // A figure of the link comes before what its topology has.
  link.latency = {Seconds(100e-6), 0.1, ""};
  EXPECT_NEAR(priced(8, 16).time.value(), 100e-6 * 2.5, 1e-9);
}

TEST(CarryOver, error_grows_with_the_distance_and_is_worst_on_pcie) {
  Link link = test::line_link(1e-5, 1e9);
  double last = price(link, call(1e6, 2)).relative_error;
  link.topology = Topology::network;
  for (int n : {4, 8, 16, 64}) {
    const double error = price(link, call(1e6, n)).relative_error;
    EXPECT_GT(error, last);
    last = error;
  }
  link.topology = Topology::pcie;
  EXPECT_GT(price(link, call(1e6, 8)).relative_error, 0.5);
}

// One standard error over NVLink is 0.02 in logarithms, and 0.16 besides for each root of a
// doubling where latency decides (docs/results/links.md): of the smallest message all of it, of one
// that takes 80 times as long a tenth, for from an eighth of the time on latency decides.
TEST(CarryOver, over_nvlink_errs_as_other_machines_do) {
  Link link = test::line_link(1e-5, 1e9);
  link.topology = Topology::nvlink;
  const double curve = link.curves.front().relative_error;
  for (const auto& [ranks, doublings] : {std::pair{4, 1.0}, {8, 2.0}}) {
    const double all = std::hypot(0.02, 0.16 * std::sqrt(doublings));
    EXPECT_NEAR(price(link, call(4, ranks)).relative_error, std::hypot(std::expm1(all), curve),
                1e-3);
    // Two ranks' latency: 0.71 of it once, the rest for each of 2 (N - 1) steps instead of 2.
    const double latency = 1e-5 * (0.71 + 0.29 * (ranks - 1));
    const double volume = (2 * (ranks - 1) + 0.40) / ranks / (2.40 / 2);
    const double bytes = 80 * latency * 1e9 / volume;
    const double some = std::hypot(0.02, 0.1 * 0.16 * std::sqrt(doublings));
    EXPECT_NEAR(price(link, call(bytes, ranks)).relative_error, std::hypot(std::expm1(some), curve),
                1e-3);
  }
}

// Blackwell's error where latency decides is 0.30 (docs/results/links.md): wider, never elsewhere.
TEST(CarryOver, over_blackwells_nvlink_is_less_sure) {
  Link link = test::line_link(1e-5, 1e9);
  link.topology = Topology::nvlink;
  const CollectivePrice hopper = price(link, call(1e3, 4));
  link.peak = BytesPerSecond(900e9);
  const CollectivePrice blackwell = price(link, call(1e3, 4));
  EXPECT_EQ(blackwell.time, hopper.time);
  EXPECT_NEAR(blackwell.relative_error,
              std::hypot(std::expm1(std::hypot(0.02, 0.30)), link.curves.front().relative_error),
              1e-3);
  EXPECT_EQ(price(link, call(1e3, 2)).relative_error, link.curves.front().relative_error);
}

TEST(CarryOver, pcie_through_host_memory_loses_less_per_doubling_than_peer_to_peer) {
  const auto of = [](Topology topology, int n) {
    return price(by_figures(topology), call(1e9, n)).time;
  };
  EXPECT_EQ(of(Topology::pcie_host, 2), of(Topology::pcie, 2));
  for (int n : {4, 8, 16}) EXPECT_LT(of(Topology::pcie_host, n), of(Topology::pcie, n));
}

// 2 H200 reach 315 GB/s at 512 MiB, 8 with NVLS 460 (2.04 ms): NVIDIA H200 table of NCCL 2.29.2 in
// validation/links/sweeps.json. 367 GB/s is what 8 do by ring (io/nccl_tests_notes.cpp).
TEST(CarryOver, of_eight_hopper_gpus_lies_between_ring_and_switch_and_covers_both) {
  Link link = test::line_link(2e-5, 315e9);
  link.peak = BytesPerSecond(450e9);
  const CollectiveCall eight = call(512 * 1048576.0, 8);
  const CollectivePrice ring = price(link, eight, InSwitch::no);
  const CollectivePrice either = price(link, eight);
  const double bus = 7.0 / 4 * eight.bytes.value();
  EXPECT_NEAR(bus / ring.time.value() / 1e9, 367, 0.05 * 367);
  EXPECT_LT(either.time, ring.time);
  EXPECT_GT(either.time, *in_switch_time(link, eight));
  EXPECT_GT(either.relative_error, ring.relative_error);
  EXPECT_LT(std::abs(std::log(either.time.value() / 2.0403e-3)),
            kNormalQuantile90 * std::log1p(either.relative_error));
  EXPECT_LT(std::abs(std::log(either.time.value() * 367e9 / bus)),
            kNormalQuantile90 * std::log1p(either.relative_error));
  link.in_switch = InSwitch::no;
  EXPECT_EQ(price(link, eight).time, ring.time);
  EXPECT_EQ(price(link, eight).relative_error, ring.relative_error);
}

TEST(CarryOver, no_switch_adds_up_for_other_counts_collectives_or_gpus) {
  Link link = test::line_link(2e-5, 315e9);
  link.peak = BytesPerSecond(450e9);
  EXPECT_TRUE(in_switch_time(link, call(1e9, 8)));
  EXPECT_FALSE(in_switch_time(link, call(1e9, 4)));
  EXPECT_FALSE(in_switch_time(link, call(1e9, 16)));
  EXPECT_FALSE(in_switch_time(link, call(1e9, 8, Collective::all_gather)));
  link.topology = Topology::network;
  EXPECT_FALSE(in_switch_time(link, call(1e9, 8)));
  link.topology = Topology::nvlink;
  link.channels = 4;
  EXPECT_FALSE(in_switch_time(link, call(1e9, 8)));
  link.channels = 24;
  EXPECT_TRUE(in_switch_time(link, call(1e9, 8)));
  link.peak = BytesPerSecond(300e9);  // A100
  EXPECT_FALSE(in_switch_time(link, call(1e9, 8)));
}

}  // namespace
}  // namespace ddpx
