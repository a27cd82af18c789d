#include "model/link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/expect_input_error.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

using test::by_figures;
using test::call;

// A ring that moves its chunks: in every step each rank sends one to its neighbour, all at once,
// and the step lasts as long as its slowest message.
struct Ring {
  int ranks;
  double latency;
  double bandwidth;
  double chunk_bytes;
  std::vector<std::vector<double>> data;  // [rank][chunk]
  double time = 0;
  int steps = 0;

  Ring(int n, double bytes, double l, double b)
      : ranks(n), latency(l), bandwidth(b), chunk_bytes(bytes / n) {
    for (int rank = 0; rank < n; ++rank) {
      std::vector<double>& mine = data.emplace_back();
      for (int chunk = 0; chunk < n; ++chunk) mine.push_back(100.0 * rank + chunk);
    }
  }

  // One step: rank r passes chunk (r - shift) mod N on; the receiver adds or keeps it.
  void step(int shift, bool add) {
    const auto before = data;
    double longest = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto to = static_cast<std::size_t>((rank + 1) % ranks);
      const auto chunk = static_cast<std::size_t>(((rank - shift) % ranks + ranks) % ranks);
      const double sent = before[static_cast<std::size_t>(rank)][chunk];
      data[to][chunk] = add ? data[to][chunk] + sent : sent;
      longest = std::max(longest, latency + chunk_bytes / bandwidth);
    }
    time += longest;
    ++steps;
  }
  void reduce_scatter() {
    for (int s = 0; s < ranks - 1; ++s) step(s, true);
  }
  void all_gather() {
    for (int s = 0; s < ranks - 1; ++s) step(s - 1, false);
  }
};

TEST(RingTime, is_that_of_a_ring_that_moves_its_chunks) {
  for (int n : {2, 3, 4, 5, 8, 13, 64}) {
    const CollectiveCall call{Collective::all_reduce, DType::fp32, Bytes(7.2e6), n};
    Ring ring(n, call.bytes.value(), 3e-6, 2e10);
    ring.reduce_scatter();
    EXPECT_EQ(ring.steps, ring_steps(Collective::reduce_scatter, n));
    CollectiveCall half = call;
    half.kind = Collective::reduce_scatter;
    EXPECT_NEAR(ring_time(half, Seconds(3e-6), BytesPerSecond(2e10)).value(), ring.time, 1e-12);
    ring.all_gather();
    EXPECT_EQ(ring.steps, ring_steps(Collective::all_reduce, n));
    EXPECT_NEAR(ring_time(call, Seconds(3e-6), BytesPerSecond(2e10)).value(), ring.time, 1e-12);
    for (const auto& rank : ring.data) {  // and it did reduce: every rank holds every sum
      for (int chunk = 0; chunk < n; ++chunk) {
        ASSERT_DOUBLE_EQ(rank[static_cast<std::size_t>(chunk)],
                         100.0 * n * (n - 1) / 2 + n * chunk);
      }
    }
  }
}

TEST(RingTime, of_one_rank_is_nothing) {
  EXPECT_EQ(ring_steps(Collective::all_reduce, 1), 0);
  const CollectiveCall alone{Collective::all_reduce, DType::fp32, Bytes(1e9), 1};
  EXPECT_EQ(ring_time(alone, Seconds(1), BytesPerSecond(1)), Seconds{});
}

TEST(LinkPrice, of_one_rank_is_nothing) {
  EXPECT_EQ(price(by_figures(), call(1e9, 1)).time, Seconds{});
  EXPECT_EQ(price(Link{}, call(1e9, 1)).time, Seconds{});
}

TEST(LinkPrice, from_figures_is_latency_plus_bytes_over_bus_bandwidth_on_two_ranks) {
  const CollectivePrice p = price(by_figures(), call(2e9, 2));
  EXPECT_NEAR(p.time.value(), 1e-5 + 0.1, 1e-12);
  EXPECT_NEAR(p.relative_error, 0.05, 1e-3);  // a large message is as sure as the bandwidth
  EXPECT_NEAR(price(by_figures(), call(4, 2)).relative_error, 0.1, 1e-3);
}

TEST(LinkPrice, from_figures_takes_the_cheaper_protocol_where_two_are_known) {
  Link link = by_figures();
  link.large_latency = {Seconds(4e-5), 0.1, ""};
  EXPECT_NEAR(price(link, call(4, 2)).time.value(), 1e-5, 1e-9);
  EXPECT_NEAR(price(link, call(2e9, 2)).time.value(), 4e-5 + 0.1, 1e-9);
  // They meet where 30 us more latency buys twice the bandwidth: 30 us x 20 GB/s = 600 kB.
  EXPECT_NEAR(price(link, call(6e5, 2)).time.value(), 1e-5 + 6e-5, 1e-12);
}

TEST(LinkPrice, a_curve_of_the_same_collective_and_count_comes_before_figures) {
  Link link = test::line_link(1e-4, 1e9);
  link.latency = {Seconds(1), 0, ""};
  link.bandwidth = {BytesPerSecond(1), 0, ""};
  EXPECT_NEAR(price(link, call(1e6, 2)).time.value(), 1e-4 + 1e-3, 1e-12);
  EXPECT_FALSE(price(link, call(1e6, 2)).extrapolated);
}

TEST(LinkPrice, a_curve_of_the_asked_dtype_comes_before_another) {
  Link link = test::line_link(1e-4, 1e9);
  link.curves.emplace_back(
      CollectiveCall{Collective::all_reduce, DType::fp16, Bytes{}, 2},
      std::vector<ProtocolLine>{{{Seconds(2e-4), 0, ""}, {BytesPerSecond(1e9), 0, ""}}},
      std::vector<CurvePoint>{});
  CollectiveCall half = call(1e6, 2);
  half.dtype = DType::fp16;
  EXPECT_NEAR(price(link, half).time.value(), 2e-4 + 1e-3, 1e-12);
  EXPECT_NEAR(price(link, call(1e6, 2)).time.value(), 1e-4 + 1e-3, 1e-12);
}

TEST(LinkPrice, half_collectives_stand_in_for_each_other_a_little_less_surely) {
  Link link = test::line_link(1e-4, 1e9);
  std::erase_if(link.curves, [](const Curve& c) { return c.kind == Collective::reduce_scatter; });
  const CollectivePrice gather = price(link, call(1e6, 2, Collective::all_gather));
  const CollectivePrice scatter = price(link, call(1e6, 2, Collective::reduce_scatter));
  EXPECT_EQ(gather.time, scatter.time);
  EXPECT_GT(scatter.relative_error, gather.relative_error);
}

TEST(LinkPrice, an_all_reduce_curve_alone_prices_a_half_collective_by_its_steps) {
  Link link = test::line_link(0, 1e9);
  std::erase_if(link.curves, [](const Curve& c) { return c.kind != Collective::all_reduce; });
  const CollectivePrice p = price(link, call(1e9, 2, Collective::all_gather));
  // One step of two and, over NVLink, the 0.4 of a step that a rank copies for itself.
  EXPECT_NEAR(p.time.value(), 1.4 / 2.4, 1e-6);
  EXPECT_GT(p.relative_error, 0.0);
}

TEST(LinkPrice, of_more_gpus_than_a_host_has_is_refused_with_what_to_give) {
  Link pcie = by_figures(Topology::pcie);
  test::expect_input_error([&] { static_cast<void>(price(pcie, call(1e6, 32))); },
                           {"link figures", "32", "--gpus 2x8", "--inter-link"});
  static_cast<void>(price(by_figures(Topology::network), call(1e6, 1024)));
}

TEST(LinkPrice, of_a_bridge_stops_at_the_cards_it_joins) {
  Link bridge = by_figures();
  bridge.name = "bridge";
  bridge.most_ranks = 2;
  EXPECT_GT(price(bridge, call(1e6, 2)).time, Seconds{});
  test::expect_input_error([&] { (void)price(bridge, call(1e6, 4)); },
                           {"bridge", "at most 2 GPUs, not 4", "--link pcie4"});
}

TEST(LinkPrice, never_falls_with_the_rank_count_or_the_size) {
  for (Topology topology : {Topology::nvlink, Topology::pcie, Topology::pcie_host,
                            Topology::network, Topology::host_memory}) {
    Link curve = test::line_link(1e-5, 1e10);
    curve.topology = topology;
    for (const Link& link : {curve, by_figures(topology)}) {
      for (Collective kind :
           {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        for (double bytes : {4.0, 1e5, 1e7, 1e9}) {
          Seconds last{};
          const bool inside = topology != Topology::network && topology != Topology::host_memory;
          for (int n = 2; n <= (inside ? 16 : 1024); ++n) {
            const Seconds time = price(link, call(bytes, n, kind)).time;
            ASSERT_GE(time, last) << name(topology) << ' ' << name(kind) << ' ' << bytes << ' '
                                  << n;
            last = time;
            ASSERT_GE(price(link, call(2 * bytes, n, kind)).time, time);
          }
        }
      }
    }
  }
}

TEST(LinkPrice, a_link_that_knows_nothing_says_so) {
  Link link;
  link.name = "bare";
  test::expect_input_error([&] { static_cast<void>(price(link, call(1e6, 2))); },
                           {"link bare", "all_reduce", "no curve"});
}

TEST(Links, bus_bandwidth_is_the_all_reduce_curves_peak_or_the_figure) {
  EXPECT_EQ(by_figures().bus_bandwidth(), BytesPerSecond(2e10));
  EXPECT_EQ(test::line_link(1e-5, 1e9).bus_bandwidth(), BytesPerSecond(1e9));
  EXPECT_EQ(test::line_link(1e-5, 1e9, 4).bus_bandwidth(), BytesPerSecond(1.5e9));
}

TEST(Links, topologies_read_back_from_their_names) {
  for (Topology t : {Topology::nvlink, Topology::pcie, Topology::pcie_host, Topology::network,
                     Topology::host_memory}) {
    EXPECT_EQ(topology_from(name(t)), t);
  }
  EXPECT_FALSE(topology_from("NVLink"));
  EXPECT_FALSE(topology_from(""));
}

}  // namespace
}  // namespace ddpx
