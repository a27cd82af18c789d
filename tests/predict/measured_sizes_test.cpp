// Whether a log's largest message shows a bandwidth.
#include "predict/measured_sizes.hpp"

#include <gtest/gtest.h>

#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

// Messages up to `largest`, 10 us and `rate` bytes per second.
Link to(double largest, double rate, std::initializer_list<int> ranks = {2}) {
  Link link;
  link.name = "log";
  link.topology = Topology::pcie;
  for (const int count : ranks) {
    std::vector<CurvePoint> points;
    for (double bytes = 8; bytes <= largest; bytes *= 4)
      points.push_back({Bytes(bytes), Seconds(10e-6 + bytes / rate), false, ""});
    link.curves.emplace_back(CollectiveCall{Collective::all_reduce, DType::fp32, Bytes{}, count},
                             std::vector<ProtocolLine>{}, points);
  }
  return link;
}

Exchange exchange(double bytes) {
  Exchange one;
  one.message = Bytes(bytes);
  return one;
}

void check(const Link& link, double bytes) {
  const Exchange one = exchange(bytes);
  check_sizes(Query{}, link, {1, 2}, {&one, 1});
}

TEST(MeasuredSizes, latency_alone_prices_no_larger_message) {
  test::expect_input_error([] { check(to(2048, 10e9), 1e6); }, {"--link", "2.05 KB", "-e 1G"});
  EXPECT_NO_THROW(check(to(2048, 10e9), 2048));
  EXPECT_NO_THROW(check(to(4e6, 10e9), 1e9));
}

TEST(MeasuredSizes, a_slow_networks_small_messages_show_its_bandwidth) {
  EXPECT_NO_THROW(check(to(200e3, 31e6), 100e6));  // 131 KB take 4 ms, of them 10 us of latency
}

TEST(MeasuredSizes, the_nearest_rank_count_speaks_whatever_the_order) {
  Link link = to(2048, 10e9);
  link.curves.insert(link.curves.begin(), to(4e6, 10e9, {8}).curves.front());
  test::expect_input_error([&] { check(link, 1e6); }, {"2.05 KB"});
  std::swap(link.curves[0], link.curves[1]);
  test::expect_input_error([&] { check(link, 1e6); }, {"2.05 KB"});
  link.curves[1].ranks = 2;
  EXPECT_NO_THROW(check(link, 1e6)) << "as near, and large";
}

}  // namespace
}  // namespace ddpx
