// What kernels, copies and collectives of a step cost one another, on the steps of whole seconds of
// step_test.cpp.
#include <gtest/gtest.h>

#include "model/scaled_link.hpp"
#include "model/step.hpp"
#include "tests/support/paper_step.hpp"

namespace ddpx {
namespace {

using test::line_link;
using test::machine_for;
using test::one_bucket_per_tensor;
using test::plain_layers;
using test::step;
using test::term;
using test::three_layer_machine;
using test::total;

TEST(DdpSteps, let_copies_and_collectives_slow_each_other) {
  // Two layers, the collective takes half the memory from a copy (and the copy delays it by what it
  // loses): copy in 4-4.5, all-reduce from 4.5; second copy 5.5-6.5, the all-reduce ends at 7 and
  // not 6.5; the next runs to 9, delayed to 9.5 by the first copy out (7-8); the last copy ends
  // at 10.
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  m.memory_beside = Estimate<double>{2.0, 0.0, ""};
  const Step s = step(m, line_link(0, 1e6), one_bucket_per_tensor(), network);
  EXPECT_DOUBLE_EQ(total(s), 10);
  EXPECT_DOUBLE_EQ(term(s, Term::copies), 2);
  EXPECT_DOUBLE_EQ(term(s, Term::contention), 1);
  EXPECT_DOUBLE_EQ(term(s, Term::exposed_communication), 2);
}

TEST(DdpSteps, let_copies_and_collectives_slow_each_other_as_measured_on_their_link) {
  // As above, where both were measured to take twice as long, with a message of the same rate.
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  Link link = line_link(0, 1e6);
  link.beside_copies = BesideCopies{{2.0, 0, ""}, {2.0, 0, ""}, BytesPerSecond(1e6)};
  EXPECT_DOUBLE_EQ(total(step(m, link, one_bucket_per_tensor(), network)), 10);
  // Measured at twice the rate, of which copies left half: all that this one asks for. It loses
  // nothing and takes of copies what was taken there. The second copy in 5.5-6.5, all-reduces
  // 4.5-6.5 and to 8.5, copies out 6.5-7.5 and 8.5-9.
  link.beside_copies->rate = BytesPerSecond(2e6);
  const Step s = step(m, link, one_bucket_per_tensor(), network);
  EXPECT_DOUBLE_EQ(total(s), 9);
  EXPECT_DOUBLE_EQ(term(s, Term::contention), 1);
}

TEST(DdpSteps, over_the_same_link_with_other_bandwidth_are_left_as_much_of_the_memory_by_copies) {
  const Network network = plain_layers(2, 2e6);
  Machine m = machine_for(network, 1);
  m.copy_bandwidth.value = BytesPerSecond(8e6);
  Link link = line_link(0, 1e6);
  link.beside_copies = BesideCopies{{2.0, 0, ""}, {2.0, 0, ""}, BytesPerSecond(1e6)};
  const auto with = [&](double factor) {
    return step(m, with_bandwidth(link, factor), one_bucket_per_tensor(), network);
  };
  // Twice the bandwidth: all-reduces of a second from 4.5 and, after the second copy in (5.5-6),
  // from 6. Beside the first copy out (6-7) that one still moves 0.5 MB/s, and the rest of its 2 MB
  // after it: to 7.75. The last copy ends at 8.25.
  EXPECT_DOUBLE_EQ(total(with(2)), 8.25);
  EXPECT_DOUBLE_EQ(term(with(2), Term::contention), 0.5);
  // Half of it: copies leave it all that it asks for. All-reduces 4.5-8.5 and to 12.5.
  EXPECT_DOUBLE_EQ(total(with(0.5)), 13);
  EXPECT_DOUBLE_EQ(term(with(0.5), Term::contention), 1);
  // A quarter: it takes a quarter of the memory, copies a third longer. All-reduces 4.5-12.5-20.5.
  EXPECT_DOUBLE_EQ(total(with(0.25)), 21);
  EXPECT_NEAR(term(with(0.25), Term::contention), 1.0 / 3, 1e-12);
}

TEST(DdpSteps, slow_kernels_by_their_waves_beside_a_collective) {
  // 10 blocks on 10 multiprocessors, 2 of them the collective's: 2 waves instead of 1. All-reduces
  // 5-7, 8-10 and 10-12. Layer 2's data gradient runs 5-7 (8 blocks, then 2 more at 6); its weight
  // gradient alone 7-8; layer 1's 8-10.
  Machine m = three_layer_machine();
  m.device.multiprocessors = 10;
  for (ProductPoint& p : m.products) p.grid = KernelGrid{10, 1, false};
  Link link = line_link(0, 1e6);
  link.channels = 2;
  const Step s = step(m, link, one_bucket_per_tensor());
  constexpr double kStarts = 2.1e-6;  // which a second wave does not take again
  EXPECT_NEAR(total(s), 12, kStarts);
  EXPECT_DOUBLE_EQ(term(s, Term::backward), 5);
  EXPECT_NEAR(term(s, Term::contention), 2, kStarts);
  EXPECT_NEAR(term(s, Term::exposed_communication), 2, kStarts);
}

TEST(DdpSteps, take_the_strategys_channels_over_the_links) {
  Machine m = three_layer_machine();
  m.device.multiprocessors = 10;
  for (ProductPoint& p : m.products) p.grid = KernelGrid{8, 1, false};
  Link link = line_link(0, 1e6);
  link.channels = 4;
  Job job = one_bucket_per_tensor();
  EXPECT_GT(term(step(m, link, job), Term::contention), 0);
  job.strategy.channels = 2;  // 8 blocks fit beside two channels
  EXPECT_DOUBLE_EQ(term(step(m, link, job), Term::contention), 0);
}

TEST(DdpSteps, slow_work_of_unknown_grid_by_the_multiprocessors_lost) {
  // 10 / 8 = 1.25: layer 2's data gradient 5-6.25, its weight gradient 0.6 of it beside, 1.15 s in
  // all; layer 1 from 7.4 to 8.65, its all-reduce 9.4-11.4.
  Machine m = three_layer_machine();
  m.device.multiprocessors = 10;
  Link link = line_link(0, 1e6);
  link.channels = 2;
  const Step s = step(m, link, one_bucket_per_tensor());
  EXPECT_NEAR(total(s), 11.4, 1e-12);
  EXPECT_NEAR(term(s, Term::contention), 0.65, 1e-12);
  EXPECT_NEAR(term(s, Term::exposed_communication), 2.75, 1e-12);
}

TEST(DdpSteps, slow_a_collective_while_products_run_and_not_after) {
  // 3 s instead of 2 beside compute: 5-8, then alone 8-10 and 10-12.
  Link link = line_link(0, 1e6);
  link.beside_compute = {1.5, 0, ""};
  const Step s = step(three_layer_machine(), link, one_bucket_per_tensor());
  EXPECT_DOUBLE_EQ(total(s), 12);
  EXPECT_DOUBLE_EQ(s.communication_busy.value(), 7);
}

TEST(Bursts, save_each_collective_what_the_link_saved_up_while_it_was_idle) {
  Link link = line_link(0, 1e6);
  link.burst = {Seconds(0.5), 0, ""};
  // Bucket 1 starts at 5 on a rested link and ends at 6.5; bucket 2, ready at 7, finds half a
  // second saved up again and ends at 8.5; bucket 3 follows without a pause and ends at 10.5.
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), link, one_bucket_per_tensor())), 10.5);
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), line_link(0, 1e6), one_bucket_per_tensor())),
                   11);
  Job fsdp = one_bucket_per_tensor();
  fsdp.strategy = parse_strategy("fsdp=unit");
  // The all-gather follows the reduce-scatter of the step before; only the reduce-scatter is
  // rested.
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), line_link(0, 1e6), fsdp)) -
                       total(step(three_layer_machine(), link, fsdp)),
                   0.5);
}

TEST(Bursts, of_any_depth_save_no_more_than_the_pause_and_never_all_of_a_collective) {
  Link link = line_link(0, 1e6);
  link.burst = {Seconds(100), 0, ""};
  // The last 2 s all-reduce starts at 8 and takes a tenth.
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), link, one_bucket_per_tensor())), 8.2);
  Link slow = line_link(0, 1e5);  // 20 s each
  slow.burst = {Seconds(100), 0, ""};
  // 5 s saved up before the first; the others follow without a pause.
  EXPECT_DOUBLE_EQ(total(step(three_layer_machine(), slow, one_bucket_per_tensor())), 5 + 60 - 5);
}

}  // namespace
}  // namespace ddpx
