#include "calibration/fit_beside.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

struct Truth {
  double factor, delay, core;
};

BesideSample sample(const Truth& truth, double bytes) {
  const double alone = 10e-6 + bytes / 1e9;
  const double beside = truth.factor * alone + truth.delay;
  BesideSample s;
  s.link = "wire";
  s.product = {Pass::forward, DType::fp32, 64, 64, 64};
  s.call = {Collective::all_reduce, DType::fp32, Bytes(bytes), 2};
  s.product_alone_seconds = {1e-3};
  s.product_beside_seconds = {1e-3 / (1 - truth.core * bytes / beside)};
  s.collective_alone_seconds = {alone};
  s.collective_beside_seconds = {beside};
  return s;
}

Machine fitted(const Truth& truth, int multiprocessors = 0) {
  Measurements measurements;
  for (double bytes : {65536.0, 1048576.0, 16777216.0})
    measurements.besides.push_back(sample(truth, bytes));
  Machine machine;
  machine.device.multiprocessors = multiprocessors;
  Link wire;
  wire.name = "wire";
  wire.topology = Topology::network;
  machine.links = {wire};
  FitReport report;
  fit_beside(measurements, machine, report);
  EXPECT_EQ(report.residuals.size(), 3U);
  return machine;
}

TEST(FitBeside, factor_delay_and_core_share_are_found_exactly_without_noise) {
  const Machine machine = fitted({1.25, 3e-4, 4e-10});
  EXPECT_NEAR(machine.links[0].beside_compute.value, 1.25, 1e-9);
  ASSERT_TRUE(machine.links[0].shared_core);
  EXPECT_NEAR(machine.links[0].shared_core->delay.value.value(), 3e-4, 1e-12);
  EXPECT_NEAR(machine.links[0].shared_core->seconds_per_byte.value, 4e-10, 1e-16);
}

TEST(FitBeside, collectives_that_get_faster_beside_products_count_as_unhindered) {
  const Machine machine = fitted({0.9, 0, 0});
  EXPECT_EQ(machine.links[0].beside_compute.value, 1);
  EXPECT_EQ(machine.links[0].shared_core->delay.value, Seconds(0));
  EXPECT_EQ(machine.links[0].shared_core->seconds_per_byte.value, 0);
}

TEST(FitBeside, a_delay_below_zero_is_none) {
  const Machine machine = fitted({1.5, -5e-6, 1e-10});
  EXPECT_EQ(machine.links[0].shared_core->delay.value, Seconds(0));
  EXPECT_GT(machine.links[0].beside_compute.value, 1.2);
}

TEST(FitBeside, the_machine_keeps_it_for_links_that_were_not_measured_side_by_side) {
  const Machine machine = fitted({1.25, 3e-4, 4e-10});
  ASSERT_TRUE(machine.shared_core);
  EXPECT_EQ(machine.shared_core->delay.value, machine.links[0].shared_core->delay.value);
}

// Products of 100 blocks on 132 multiprocessors leave room for 4 channels; they take 0.2 to 0.8 of
// the memory's bandwidth.
TEST(FitBeside, on_gpus_a_collective_is_slowed_by_the_memory_a_product_takes_and_shares_no_core) {
  const double slope = 0.6;
  Machine machine;
  machine.device.multiprocessors = 132;
  machine.copy_bandwidth = {BytesPerSecond(4e12), 0.01, ""};
  Link& link = machine.links.emplace_back();
  link.name = "nvlink";
  link.channels = 4;
  Measurements measurements;
  for (const double share : {0.2, 0.4, 0.8}) {
    const Product product{Pass::weight_gradient, DType::fp32, 256, 1024 * share, 1024};
    const Seconds time(product.bytes().value() / (share * 4e12));
    machine.products.push_back({product, {time, 0.005, ""}, KernelGrid{100, 1, false}});
    BesideSample sample;
    sample.link = "nvlink";
    sample.product = product;
    sample.call = {Collective::all_reduce, DType::fp32, Bytes(1e6), 2};
    sample.product_alone_seconds = sample.product_beside_seconds = {time.value()};
    sample.collective_alone_seconds = {1e-3};
    sample.collective_beside_seconds = {1e-3 * (1 + slope * share)};
    measurements.besides.push_back(sample);
  }
  FitReport report;
  fit_beside(measurements, machine, report);
  EXPECT_NEAR(machine.links[0].beside_memory.value, slope, 1e-9);
  EXPECT_NEAR(machine.links[0].beside_flops.value, 0, 1e-9);
  EXPECT_EQ(machine.links[0].beside_compute.value, 1);
  EXPECT_FALSE(machine.links[0].shared_core);
  EXPECT_FALSE(machine.shared_core);
}

// By kernel records no time is a wait, so long products count; what a product takes of the memory
// is what it takes while it is stretched.
TEST(FitBeside, kernel_records_tell_what_memory_costs_a_collective_from_what_flops_do) {
  Machine machine;
  machine.device.multiprocessors = 132;
  Link& link = machine.links.emplace_back();
  link.name = "nvlink";
  link.channels = 24;
  Measurements measurements;
  measurements.copies.push_back({Bytes(1e9), {2e9 / 4e12}});
  for (const double stretch : {1.0, 1.9}) {
    for (const double rate : {40e12, 300e12, 700e12}) {
      const Product product{Pass::data_gradient, DType::bf16, 1024, 4096, 4096};
      const double time = (product.flops() / FlopsPerSecond(rate)).value() * stretch;
      BesideSample sample;
      sample.link = "nvlink";
      sample.product = product;
      sample.call = {Collective::all_reduce, DType::fp32, Bytes(26214400), 2};
      sample.product_alone_seconds = {time / stretch};
      sample.product_beside_seconds = {time};
      sample.collective_alone_seconds = {100e-6};
      const double share = product.bytes().value() / time / 4e12;
      sample.collective_beside_seconds = {100e-6 * (1 + 0.9 * share + 0.2 * rate / stretch / 1e15)};
      sample.kernel_share = 1;
      measurements.besides.push_back(sample);
      // The same flops of other operands.
      sample.product = {Pass::data_gradient, DType::bf16, 64, 4096 * 4, 4096 * 4};
      const double other = (sample.product.flops() / FlopsPerSecond(rate)).value();
      sample.product_alone_seconds = sample.product_beside_seconds = {other};
      sample.collective_beside_seconds = {
          100e-6 * (1 + 0.9 * std::min(1.0, sample.product.bytes().value() / other / 4e12) +
                    0.2 * rate / 1e15)};
      measurements.besides.push_back(sample);
    }
  }
  FitReport report;
  fit_beside(measurements, machine, report);
  EXPECT_NEAR(machine.links[0].beside_memory.value, 0.9, 1e-6);
  EXPECT_NEAR(machine.links[0].beside_flops.value, 0.2, 1e-6);
}

// A product as long as the collective makes it wait for room, which would hide the rest.
TEST(FitBeside, pairs_in_which_the_wait_for_room_hides_the_rest_say_nothing) {
  Machine machine;
  machine.device.multiprocessors = 132;
  machine.copy_bandwidth = {BytesPerSecond(4e12), 0.01, ""};
  machine.links.emplace_back().channels = 4;
  const Product product{Pass::weight_gradient, DType::fp32, 256, 1024, 1024};
  machine.products.push_back({product, {Seconds(1e-3), 0.005, ""}, KernelGrid{1000, 1, false}});
  BesideSample sample;
  sample.product = product;
  sample.call = {Collective::all_reduce, DType::fp32, Bytes(1e6), 2};
  sample.product_alone_seconds = sample.product_beside_seconds = {1e-3};
  sample.collective_alone_seconds = {1e-3};
  sample.collective_beside_seconds = {2e-3};
  Measurements measurements;
  measurements.besides.push_back(sample);
  FitReport report;
  fit_beside(measurements, machine, report);
  EXPECT_EQ(machine.links[0].beside_memory.value, 0);
}

CopyBesideSample copy_sample(double collective, double copy) {
  CopyBesideSample s;
  s.link = "wire";
  s.copy = {kMiB * 64};
  s.call = {Collective::all_reduce, DType::fp32, Bytes(25e6), 2};
  s.copy_alone_seconds = {1e-4};
  s.copy_beside_seconds = {copy * 1e-4};
  s.collective_alone_seconds = {1e-3};
  s.collective_beside_seconds = {collective * 1e-3};
  return s;
}

TEST(FitBeside, copies_and_collectives_slow_each_other_on_a_link_as_they_were_measured) {
  Measurements measurements;
  measurements.copy_besides = {copy_sample(1.2, 1.1)};
  Machine machine;
  machine.device.multiprocessors = 132;
  machine.links.resize(2);
  machine.links[0].name = "wire";  // PCIe
  machine.links[1].name = "other";
  FitReport report;
  fit_beside(measurements, machine, report);
  ASSERT_TRUE(machine.links[0].beside_copies);
  EXPECT_FALSE(machine.links[1].beside_copies);
  const BesideCopies one = *machine.links[0].beside_copies;
  EXPECT_NEAR(one.collective.value, 1.2, 1e-12);
  EXPECT_NEAR(one.copy.value, 1.1, 1e-12);
  EXPECT_NEAR(one.rate.value(), 25e9, 1);  // an all-reduce of two ranks: its bytes over its time
  // A tenth of what it takes longer.
  EXPECT_NEAR(one.collective.relative_error, 0.02 / 1.2, 1e-12);
  // Two leases: the median, and 1.2533 x 1.4826 x 0.1 / sqrt(2) of it. Never faster than alone.
  measurements.copy_besides.push_back(copy_sample(1.4, 0.8));
  fit_beside(measurements, machine, report);
  const BesideCopies two = *machine.links[0].beside_copies;
  EXPECT_NEAR(two.collective.value, 1.3, 1e-12);
  EXPECT_NEAR(two.collective.relative_error, 0.13139 / 1.3, 1e-4);
  EXPECT_NEAR(two.copy.value, 1.05, 1e-12);
  // Where the memory is all that they share, that says it.
  machine.links[0] = {};
  machine.links[0].name = "wire";
  machine.links[0].topology = Topology::nvlink;
  fit_beside(measurements, machine, report);
  EXPECT_FALSE(machine.links[0].beside_copies);
}

TEST(FitBeside, without_samples_nothing_changes) {
  Machine machine;
  machine.links.emplace_back();
  FitReport report;
  fit_beside({}, machine, report);
  EXPECT_EQ(machine.links[0].beside_compute.value, 1);
  EXPECT_FALSE(machine.shared_core);
}

}  // namespace
}  // namespace ddpx
