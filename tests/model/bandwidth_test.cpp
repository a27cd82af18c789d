// More bandwidth never hurts: the step over a faster link is no longer, but for two things that a
// faster link really changes, each with its bound.
//
// - Memory. A collective moves the same bytes through the memory whatever the link, in less time
//   over a faster one. If it ran beside products, which do not miss the memory, and now runs beside
//   memory-bound kernels, these lose what it takes: together no more than the collectives' whole
//   traffic.
// - Waves. A kernel that begins a moment later can meet a collective in another place, where it
//   needs a wave more: together no more than what beginning to end beside a collective would cost.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/random_step.hpp"

namespace ddpx {
namespace {

using test::Random;
using test::random_setting;
using test::Setting;

constexpr double kRounding = 1e-12;
constexpr double kFastest = 1e12;
constexpr double kSlowest = 1e8;

double moved_through_memory(const Setting& s, const Link& link) {
  constexpr double kPerBusByte = 3;
  double bytes = 0;
  const StepModel model(s.machine, link, s.network, s.job);
  for (const Exchange& e : model.exchanges())
    bytes += kPerBusByte * e.message.value() * bus_factor(e.kind, e.ranks) * e.per_step;
  return bytes / s.machine.copy_bandwidth.value.value();
}

// What all products of a step lose when each runs beside a collective all the time.
double lost_in_waves(const Setting& s) {
  const int multiprocessors = s.machine.device.multiprocessors;
  if (multiprocessors == 0 || s.link.channels == 0) return 0;
  const double even = fluid_slowdown(multiprocessors, s.link.channels);
  const ProductTable products(s.machine, s.job.dtype);
  double lost = 0;
  for (const Layer& layer : s.network.layers) {
    for (const LayerProduct& p : layer.products) {
      for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
        const ProductPrice price = products.price(
            {pass, s.job.dtype, p.rows_per_sample * s.job.samples_per_micro_batch(), p.in, p.out});
        const double slowdown =
            price.grid ? wave_slowdown(*price.grid, multiprocessors, s.link.channels) : even;
        lost += p.count * price.time.value() * (std::max(slowdown, even) - 1);
      }
    }
  }
  return lost * s.job.strategy.micro_batches;
}

// The most by which a step over a faster link is longer than over any slower one, in seconds.
double hurt_by_bandwidth(const Setting& s, double latency) {
  double shortest = 0;
  double most = 0;
  for (double bandwidth = kSlowest; bandwidth < kFastest; bandwidth *= 1.25) {
    Link link = test::line_link(latency, bandwidth);
    link.channels = s.link.channels;
    link.beside_compute = s.link.beside_compute;
    if (s.job.strategy.hybrid) link.levels = {link, link};
    const double step = StepModel(s.machine, link, s.network, s.job).run().total().value();
    if (shortest > 0) most = std::max(most, step - shortest * (1 + kRounding));
    shortest = shortest > 0 ? std::min(shortest, step) : step;
  }
  return most;
}

// Waiting lowers the power of a part that its limit holds back, and its clock rises: there a slower
// link may win, and no such machine is drawn.
Setting without_boost(Random& random) {
  Setting s = random_setting(random);
  s.machine.boost.reset();
  s.job.gpus = std::max(2, s.job.gpus);
  return s;
}

TEST(MoreBandwidth, never_hurts_where_collectives_take_neither_memory_nor_multiprocessors) {
  Random random(21);
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = 0;
    s.machine.memory_beside = Estimate<double>{1.0, 0.0, ""};
    ASSERT_EQ(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)), 0) << describe(s.job.strategy);
  }
}

TEST(MoreBandwidth, never_hurts_where_the_memory_lost_beside_a_collective_was_measured) {
  Random random(22);
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = 0;
    s.machine.memory_beside = Estimate<double>{random.between(1, 1.6), 0.0, ""};
    ASSERT_EQ(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)), 0) << describe(s.job.strategy);
  }
}

TEST(MoreBandwidth, costs_at_most_what_collectives_move_through_the_memory) {
  Random random(23);
  int hurt = 0;
  for (int round = 0; round < 1000; ++round) {
    Setting s = without_boost(random);
    s.machine.device.multiprocessors = 0;
    s.machine.memory_beside.reset();
    const double most = hurt_by_bandwidth(s, random.size(1e-6, 1e-4));
    hurt += most > 0 ? 1 : 0;
    ASSERT_LE(most, moved_through_memory(s, s.link)) << describe(s.job.strategy);
  }
  EXPECT_LT(hurt, 200);
}

TEST(MoreBandwidth, costs_at_most_that_and_what_waves_can_take) {
  Random random(24);
  for (int round = 0; round < 1000; ++round) {
    const Setting s = without_boost(random);
    ASSERT_LE(hurt_by_bandwidth(s, random.size(1e-6, 1e-4)),
              moved_through_memory(s, s.link) + lost_in_waves(s))
        << describe(s.job.strategy);
  }
}

TEST(MoreBandwidth, takes_of_the_memory_what_the_collective_itself_reaches) {
  const Network network = test::plain_layers(2, 4);
  Machine machine = test::machine_for(network, 1);
  machine.copy_bandwidth.value = BytesPerSecond(4);
  const Link link = test::line_link(9.5, 8);  // 4 bytes in 10 s: 0.4 B/s of 8
  const Step step = StepModel(machine, link, network, test::one_bucket_per_tensor()).run();
  // Either all-reduce takes 3 x 0.4 of 4 B/s; beside the first, the second gradient (2 x 4 bytes)
  // is copied in, beside the second, the first is copied out.
  EXPECT_NEAR(step.term(Term::contention).value(), 2 * 0.3 * 2, 1e-12);
}

}  // namespace
}  // namespace ddpx
