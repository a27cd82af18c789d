// CPU ranks: a collective has no processor of its own. Steps worked out on paper.
#include <gtest/gtest.h>

#include "model/step.hpp"
#include "tests/support/tiny_machine.hpp"

namespace ddpx {
namespace {

// Two layers of 100 B; every product takes a second, an all-reduce half a second.
struct TwoLayers {
  Network network = test::plain_layers(2, 100);
  Machine machine = test::machine_for(network, 1);
  Link link = test::line_link(0, 200);

  [[nodiscard]] Step step() const {
    return StepModel(machine, link, network, test::one_bucket_per_tensor()).run();
  }
};

TEST(SharedCore, without_it_collectives_hide_behind_products) {
  const Step step = TwoLayers{}.step();
  // Bucket 0 runs beside the last weight gradient, bucket 1 after it.
  EXPECT_NEAR(step.term(Term::exposed_communication).value(), 0.5, 1e-6);
  EXPECT_NEAR(step.term(Term::contention).value(), 0, 1e-6);
}

TEST(SharedCore, a_collective_gets_on_slowly_beside_products_and_at_full_speed_after_them) {
  TwoLayers c;
  c.link.shared_core = SharedCore{{0, 0, ""}, {Seconds(1.5), 0, ""}};
  // Beside products bucket 0 would take 0.5 + 1.5 s. The last product ends after 1 s: half is done,
  // and the other half takes 0.25 s; then bucket 1 takes its 0.5 s.
  EXPECT_NEAR(c.step().term(Term::exposed_communication).value(), 0.75, 1e-6);
}

TEST(SharedCore, what_a_collective_takes_of_the_core_slows_products_beside_it) {
  TwoLayers c;
  // 0.1 of 0.5 s: products beside it take 1 / 0.8 as long.
  c.link.shared_core = SharedCore{{0.1 / 100, 0, ""}, {Seconds(0), 0, ""}};
  // The last weight gradient runs beside bucket 0 for half a second, in which it gets on by 0.4 s.
  EXPECT_NEAR(c.step().term(Term::contention).value(), 0.1, 1e-6);
}

TEST(SharedCore, a_link_without_its_own_takes_the_machines) {
  TwoLayers own;
  own.link.shared_core = SharedCore{{0, 0, ""}, {Seconds(1.5), 0, ""}};
  TwoLayers machines;
  machines.machine.shared_core = own.link.shared_core;
  EXPECT_EQ(own.step().total(), machines.step().total());
}

TEST(SharedCore, a_device_with_multiprocessors_has_none) {
  TwoLayers c;
  c.machine.device.multiprocessors = 132;
  const Seconds before = c.step().total();
  c.link.shared_core = SharedCore{{0.1, 0, ""}, {Seconds(1.5), 0, ""}};
  EXPECT_EQ(c.step().total(), before);
}

}  // namespace
}  // namespace ddpx
