// More bandwidth never hurts: the step over a faster link is no longer, but for waves. A kernel
// that begins a moment later can meet a collective in another place, where it needs a wave more, or
// fill the GPU just before the next collective comes, which then waits for its blocks: together no
// more than what beginning to end beside a collective would cost, and a product's time for each
// collective.
//
// Memory is no exception: a collective moves the same bytes through it over any link, and takes no
// larger share of it than of the multiprocessors, so that a moment beside memory-bound work costs
// no more than one beside a product.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/model/random_step.hpp"
#include "tests/model/wave_bound.hpp"

namespace ddpx {
namespace {

using test::lost_in_waves;
using test::Random;
using test::random_setting;
using test::Setting;

constexpr double kRounding = 1e-12;
constexpr double kFastest = 1e12;
constexpr double kSlowest = 1e8;

struct Hurt {
  double seconds = 0;
  double fraction = 0;  // of the step over the slower link
};

// The most by which a step over a faster link is longer than over any slower one.
Hurt hurt_by_bandwidth(const Setting& s, double latency) {
  double shortest = 0;
  Hurt most;
  for (double bandwidth = kSlowest; bandwidth < kFastest; bandwidth *= 1.25) {
    Link link = test::line_link(latency, bandwidth);
    link.channels = s.link.channels;
    link.beside_compute = s.link.beside_compute;
    link.shared_core = s.link.shared_core;
    link.beside_copies = s.link.beside_copies;
    if (s.job.strategy.hybrid) link.levels = {link, link};
    const double step = StepModel(s.machine, link, s.network, s.job).run().total().value();
    const double longer = shortest > 0 ? step - shortest * (1 + kRounding) : 0;
    if (longer > most.seconds) most = {longer, longer / shortest};
    shortest = shortest > 0 ? std::min(shortest, step) : step;
  }
  return most;
}

// The clock of a part that its power limit holds back rises while it waits: by itself below.
Setting without_boost(Random& random) {
  Setting s = random_setting(random);
  s.machine.boost.reset();
  s.job.gpus = std::max(2, s.job.gpus);
  return s;
}

TEST(MoreBandwidth, never_hurts_where_collectives_hold_nothing) {
  Random random(21);
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = 0;
    ASSERT_EQ(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)).seconds, 0) << describe(s.job.strategy);
  }
}

// A part that its power limit holds back raises its clock while it waits, by less than the wait
// costs: the limit bounds busy x f^3, so that work of C takes C busy^(1/3), and the step grows with
// the wait w by 1 - C/(3 T) > 0 of it. Beside collectives on multiprocessors the two rounds in
// which the clock is settled leave some parts in a thousand.
TEST(MoreBandwidth, is_never_worth_less_than_the_clock_that_waiting_raises) {
  constexpr double kSettled = 5e-3;
  Random random(27);
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.boost = Estimate<double>{random.between(0.5, 1), 0.05, ""};
    const double latency = random.size(1e-6, 1e-4);
    for (ProductPoint& p : s.machine.products) p.grid.reset();
    ASSERT_LE(hurt_by_bandwidth(s, latency).fraction, kSettled)
        << describe(s.job.strategy) << " round " << round;
    s.machine.device.multiprocessors = 0;
    ASSERT_EQ(hurt_by_bandwidth(s, latency).seconds, 0)
        << describe(s.job.strategy) << " round " << round;
  }
}

// Sent faster, the same bytes may meet more of a step's work.
TEST(MoreBandwidth, costs_processor_cores_at_most_what_collectives_take_of_them) {
  Random random(24);
  int hurt = 0;
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = 0;
    const double per_byte = random.size(1e-12, 1e-9);
    s.link.shared_core =
        SharedCore{{per_byte, 0.1, ""}, {Seconds(random.size(1e-6, 1e-3)), 0.1, ""}};
    double bytes = 0;
    const StepModel model(s.machine, s.link, s.network, s.job);
    for (const Exchange& e : model.exchanges()) bytes += e.gradient.value() * e.per_step;
    const Hurt by = hurt_by_bandwidth(s, random.size(1e-6, 1e-4));
    hurt += by.fraction > 1e-3 ? 1 : 0;
    ASSERT_LE(by.seconds, per_byte * bytes) << describe(s.job.strategy);
  }
  EXPECT_LT(hurt, 20);
}

TEST(MoreBandwidth, never_hurts_gpus_whose_products_have_no_waves) {
  Random random(22);
  for (int round = 0; round < 2000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = random.count(20, 140);
    s.link.channels = random.count(0, s.machine.device.multiprocessors / 4);
    for (ProductPoint& p : s.machine.products) p.grid.reset();
    ASSERT_LE(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)).fraction, 2e-3)
        << describe(s.job.strategy) << " round " << round;
  }
}

TEST(MoreBandwidth, never_hurts_where_copies_beside_collectives_were_measured) {
  Random random(25);
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = random.count(20, 140);
    s.link.channels = random.count(0, s.machine.device.multiprocessors / 4);
    for (ProductPoint& p : s.machine.products) p.grid.reset();
    s.link.beside_copies = BesideCopies{{random.size(1, 2.2), 0.1, ""},
                                        {random.size(1, 1.2), 0.1, ""},
                                        BytesPerSecond(random.size(kSlowest, kFastest))};
    ASSERT_LE(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)).fraction, 2e-3)
        << describe(s.job.strategy) << " round " << round;
  }
}

TEST(MoreBandwidth, costs_at_most_what_waves_can_take) {
  Random random(23);
  int hurt = 0;
  for (int round = 0; round < 1000; ++round) {
    const Setting s = without_boost(random);
    const Hurt by = hurt_by_bandwidth(s, random.size(1e-6, 1e-4));
    hurt += by.fraction > 1e-3 ? 1 : 0;
    ASSERT_LE(by.seconds, lost_in_waves(s.machine, s.link, s.network, s.job).value())
        << describe(s.job.strategy);
  }
  EXPECT_LT(hurt, 50);
}

// Of strategies drawn at random few are sharded: each way of it by itself.
TEST(MoreBandwidth, hurts_no_way_of_sharding_but_by_waves) {
  constexpr std::array kSharded{"zero=1", "zero=2",     "zero=3",
                                "fsdp",   "fsdp=block", "fsdp=block,reshard=no"};
  Random random(26);
  for (std::size_t way = 0; way <= kSharded.size(); ++way) {
    for (int round = 0; round < 200; ++round) {
      Setting s = without_boost(random);
      const bool hsdp = way == kSharded.size();
      s.job.strategy = parse_strategy(hsdp ? "fsdp=block" : kSharded.at(way));
      if (hsdp) {
        s.job.gpus = 4 << random.count(0, 2);
        s.job.strategy.hybrid = HybridGroups{s.job.gpus / 2, 2};
        s.link.levels = {s.link, s.link};
      }
      s.machine.device.multiprocessors = random.count(20, 140);
      s.link.channels = random.count(1, s.machine.device.multiprocessors / 4);
      const double latency = random.size(1e-6, 1e-4);
      ASSERT_LE(hurt_by_bandwidth(s, latency).seconds,
                lost_in_waves(s.machine, s.link, s.network, s.job).value())
          << describe(s.job.strategy) << " round " << round;
      for (ProductPoint& p : s.machine.products) p.grid.reset();
      ASSERT_LE(hurt_by_bandwidth(s, latency).fraction, 2e-3)
          << describe(s.job.strategy) << " round " << round << " without grids";
    }
  }
}

// 4 bytes in 10 s: 0.4 B/s, of which 3 x 0.4 of the memory's 4 B/s. Beside the first all-reduce the
// second gradient (2 x 4 bytes) is copied in, beside the second the first is copied out. Products
// of one block each find a multiprocessor.
double memory_lost(int channels) {
  const Network network = test::plain_layers(2, 4);
  Machine machine = test::machine_for(network, 1);
  machine.copy_bandwidth.value = BytesPerSecond(4);
  machine.device.multiprocessors = 10;
  for (ProductPoint& p : machine.products) p.grid = KernelGrid{1, 1, false};
  Link link = test::line_link(9.5, 8);
  link.channels = channels;
  const Step step = StepModel(machine, link, network, test::one_bucket_per_tensor()).run();
  return step.term(Term::contention).value();
}

TEST(MoreBandwidth, takes_of_the_memory_what_the_collective_itself_reaches) {
  EXPECT_NEAR(memory_lost(5), 2 * 0.3 * 2, 1e-12);
}

TEST(MoreBandwidth, takes_no_larger_share_of_the_memory_than_of_the_multiprocessors) {
  EXPECT_NEAR(memory_lost(1), 2 * (2 / 0.9 - 2), 1e-12);
  EXPECT_EQ(memory_lost(0), 0);
}

}  // namespace
}  // namespace ddpx
