// What holds of every step, whatever the machine, the network and the strategy.
#include <gtest/gtest.h>

#include <cmath>

#include "model/conditions.hpp"
#include "model/memory.hpp"
#include "tests/model/random_step.hpp"

namespace ddpx {
namespace {

using test::Random;
using test::random_setting;
using test::Setting;

constexpr int kRounds = 3000;

TEST(EveryStep, has_terms_that_are_not_negative_and_add_up_to_it) {
  Random random(1);
  for (int round = 0; round < kRounds; ++round) {
    const Setting s = random_setting(random);
    const Step step = StepModel(s.machine, s.link, s.network, s.job).run();
    double sum = 0;
    for (std::size_t t = 0; t < kTerms; ++t) {
      const double value = step.terms[t].value();
      ASSERT_TRUE(std::isfinite(value));
      ASSERT_GE(value, -1e-12) << name(static_cast<Term>(t));
      sum += value;
    }
    ASSERT_GT(sum, 0);
    ASSERT_DOUBLE_EQ(step.total().value(), sum);
    ASSERT_GE(step.communication_share(), 0);
    ASSERT_LE(step.communication_share(), 1);
    ASSERT_LE(step.communication_busy_share(), 1 + 1e-9);
  }
}

// Nobody to exchange with: what a strategy does about exchanges costs one GPU nothing.
TEST(EveryStep, of_one_gpu_is_its_own_work_alone) {
  Random random(9);
  for (int round = 0; round < kRounds; ++round) {
    Setting s = random_setting(random);
    s.job.gpus = 1;
    s.job.strategy.hybrid.reset();
    const Step step = StepModel(s.machine, s.link, s.network, s.job).run();
    for (const Term term : {Term::contention, Term::copies, Term::compression,
                            Term::exposed_communication, Term::framework, Term::imbalance})
      ASSERT_EQ(step.term(term).value(), 0) << name(term) << " " << describe(s.job.strategy);
    ASSERT_EQ(step.communication_busy.value(), 0);
    Job plain = s.job;
    plain.strategy = Strategy{};
    plain.strategy.micro_batches = s.job.strategy.micro_batches;
    const Link none;
    ASSERT_EQ(step.total().value(),
              StepModel(s.machine, none, s.network, plain).run().total().value())
        << describe(s.job.strategy);
  }
}

// All ranks together hold every parameter, gradient and moment at least once; a rank that is not
// sharded holds them all itself.
TEST(EveryStep, needs_memory_for_the_parameters_it_trains) {
  Random random(10);
  for (int round = 0; round < kRounds; ++round) {
    const Setting s = random_setting(random);
    const MemoryParts parts = memory_parts(s.network, s.job);
    const double least = 2 * kGradientBytes * s.network.parameters();  // SGD: no moments
    const bool shared = s.job.gpus > 1 && s.job.strategy.sync;
    const bool sharded = shared && s.job.strategy.sharding != Sharding::none;
    ASSERT_GE(parts.state.value() * (sharded ? s.job.gpus : 1), least * (1 - 1e-12))
        << describe(s.job.strategy);
    ASSERT_GE(parts.total().value(), parts.state.value());
  }
}

TEST(EveryStep, ends_where_its_timeline_does) {
  Random random(2);
  for (int round = 0; round < kRounds; ++round) {
    const Setting s = random_setting(random);
    const StepModel model(s.machine, s.link, s.network, s.job);
    const Step step = model.run();
    const Timeline timeline = model.timeline();
    double host = 0;
    for (const Span& span : timeline.spans)
      if (span.stream == Stream::host) host = std::max(host, span.end.value());
    // Imbalance is waiting for another rank, which this rank's timeline does not show but where its
    // host is busy meanwhile.
    double expected = step.total().value();
    if (step.term(Term::host).value() == 0)
      expected = std::max(expected - step.term(Term::imbalance).value(), host);
    ASSERT_NEAR(timeline.end().value(), expected, 1e-9 * expected);
  }
}

TEST(EveryStep, keeps_both_streams_in_order) {
  Random random(3);
  for (int round = 0; round < kRounds / 4; ++round) {
    const Setting s = random_setting(random);
    const Timeline timeline = StepModel(s.machine, s.link, s.network, s.job).timeline();
    for (Stream stream : {Stream::compute, Stream::communication, Stream::between}) {
      double last = 0;
      for (const Span& span : timeline.spans) {
        if (span.stream != stream) continue;
        ASSERT_LE(span.start, span.end);
        ASSERT_GE(span.start.value(), last - 1e-12) << span.name;
        last = span.end.value();
      }
    }
  }
}

TEST(EveryStep, is_at_least_the_work_of_either_stream_and_at_most_their_sum_slowed) {
  Random random(4);
  for (int round = 0; round < kRounds; ++round) {
    Setting s = random_setting(random);
    s.machine.host = {};
    s.machine.sustained.reset();
    s.machine.boost.reset();
    s.machine.rank_spread = 0;
    const StepModel model(s.machine, s.link, s.network, s.job);
    const Step step = model.run();
    // From compute to a collective and back.
    double handovers = 0;
    for (const Exchange& e : model.exchanges()) handovers += 2 * e.per_step;
    const double gap = (s.machine.kernel_gap.value + s.machine.longer_gap_of(s.job.engine)).value();
    Job alone = s.job;
    alone.gpus = 1;
    const double compute = StepModel(s.machine, s.link, s.network, alone).run().total().value();
    const double total = step.total().value();
    if (s.job.strategy.sharding == Sharding::none) {
      ASSERT_GE(total, compute * (1 - 1e-12));
    }
    ASSERT_GE(total, step.communication_busy.value());
    const double parts = compute + step.communication_busy.value() +
                         step.term(Term::contention).value() + step.term(Term::copies).value() +
                         step.term(Term::compression).value() + handovers * gap;
    const double hook_at_worst =
        s.job.strategy.compression ? step.term(Term::exposed_communication).value() : 0;
    ASSERT_LE(total, (parts + hook_at_worst) * (1 + 1e-12));
  }
}

TEST(EveryStep, is_the_same_every_time) {
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    const Setting s = random_setting(random);
    const StepModel model(s.machine, s.link, s.network, s.job);
    ASSERT_EQ(model.run().total(), model.run().total());
    ASSERT_EQ(StepModel(s.machine, s.link, s.network, s.job).run().total(), model.run().total());
  }
}

TEST(EveryStep, is_never_faster_for_uneven_work_a_slow_rank_or_a_loader) {
  Random random(8);
  for (int round = 0; round < kRounds / 4; ++round) {
    Setting s = random_setting(random);
    const double total = StepModel(s.machine, s.link, s.network, s.job).run().total().value();
    if (random.chance(0.5)) s.job.imbalance = random.between(0, 1);
    if (random.chance(0.5)) s.job.straggler = random.between(0, 1);
    if (random.chance(0.5))
      s.job.loader =
          Loader{s.job.samples_per_step() / total * random.size(0.1, 10), random.chance(0.5)};
    const Step worse = StepModel(s.machine, s.link, s.network, s.job).run();
    ASSERT_GE(worse.total().value(), total * (1 - 1e-9));
    const Step unshared = StepModel(s.machine, s.link, s.network, without_sharing(s.job)).run();
    for (const Condition& c : conditions(worse, unshared, s.machine.rank_spread, s.job)) {
      ASSERT_GE(c.lost, -1e-12) << name(c.kind);
      ASSERT_LE(c.lost, 1) << name(c.kind);
      ASSERT_TRUE(std::isfinite(c.figure)) << name(c.kind);
    }
    if (s.job.gpus == 1) {
      ASSERT_EQ(worse.term(Term::imbalance).value(), 0);
    }
  }
}

TEST(EveryStep, stays_finite_and_positive_for_far_shifts) {
  Random random(7);
  for (int round = 0; round < kRounds / 4; ++round) {
    const Setting s = random_setting(random);
    const StepModel model(s.machine, s.link, s.network, s.job);
    Shift shift;
    for (double& z : shift.z) z = random.between(-60, 60);
    const double total = model.run(shift).total().value();
    ASSERT_TRUE(std::isfinite(total));
    ASSERT_GT(total, 0);
  }
}

}  // namespace
}  // namespace ddpx
