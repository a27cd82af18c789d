#include "model/machine.hpp"

#include <gtest/gtest.h>

#include "tests/support/expect_input_error.hpp"

namespace ddpx {
namespace {

ProductPoint measured(Pass pass, double rows, double in, double out, double flops_per_second) {
  ProductPoint point;
  point.product = {pass, DType::fp32, rows, in, out};
  point.time = {Seconds(point.product.flops().value() / flops_per_second), 0.01, "test"};
  point.grid = KernelGrid{rows, 1, false};
  return point;
}

Machine machine_of(std::vector<ProductPoint> points) {
  Machine m;
  m.name = "test";
  m.products = std::move(points);
  return m;
}

ProductPrice price(const Machine& m, Pass pass, double rows, double in, double out) {
  return ProductTable(m, DType::fp32).price({pass, DType::fp32, rows, in, out});
}

// Kernel grids that differ would move a transferred rate by their waves; a machine without
// multiprocessors has none.
Machine even_machine() {
  std::vector<ProductPoint> points;
  for (double width : {256.0, 1024.0, 4096.0}) {
    points.push_back(measured(Pass::forward, 256, width, width, 1e12));
    points.push_back(measured(Pass::weight_gradient, 256, width, width, 2e12));
  }
  return machine_of(points);
}

TEST(ProductTables, a_measured_shape_has_its_own_time_error_and_grid) {
  Machine m = even_machine();
  m.products[2].time.value = Seconds(123e-6);  // unlike its neighbours
  const ProductPrice p = price(m, Pass::forward, 256, 1024, 1024);
  EXPECT_EQ(p.time, Seconds(123e-6));
  EXPECT_EQ(p.relative_error, 0.01);
  ASSERT_TRUE(p.grid);
  EXPECT_EQ(p.grid->blocks, 256);
  EXPECT_FALSE(p.extrapolated);
}

TEST(ProductTables, another_shape_transfers_efficiency_and_not_time) {
  // 1 Tflop/s everywhere: 2 x 256 x 2048^2 flops take 2.1 ms, whatever lies next to it.
  const ProductPrice p = price(even_machine(), Pass::forward, 256, 2048, 2048);
  EXPECT_NEAR(p.time.value(), 2.0 * 256 * 2048 * 2048 / 1e12, 1e-12);
  EXPECT_GT(p.relative_error, 0.01);
}

TEST(ProductTables, passes_keep_their_own_rates) {
  EXPECT_NEAR(price(even_machine(), Pass::weight_gradient, 256, 2048, 2048).time.value(),
              2.0 * 256 * 2048 * 2048 / 2e12, 1e-12);
}

TEST(ProductTables, a_pass_that_was_not_measured_borrows_a_rate_less_surely) {
  const ProductPrice p = price(even_machine(), Pass::data_gradient, 256, 1024, 1024);
  const double flops = 2.0 * 256 * 1024 * 1024;
  EXPECT_GE(p.time.value(), flops / 2e12 * (1 - 1e-9));
  EXPECT_LE(p.time.value(), flops / 1e12 * (1 + 1e-9));
  EXPECT_GE(p.relative_error, 0.05);
}

TEST(ProductTables, a_rate_between_two_neighbours_lies_between_theirs) {
  Machine m = machine_of({measured(Pass::forward, 256, 1024, 1024, 1e12),
                          measured(Pass::forward, 256, 4096, 4096, 4e12)});
  const double flops = 2.0 * 256 * 2048 * 2048;
  const double rate = flops / price(m, Pass::forward, 256, 2048, 2048).time.value();
  EXPECT_GT(rate, 1e12);
  EXPECT_LT(rate, 4e12);
}

TEST(ProductTables, error_grows_with_the_distance_until_the_shape_counts_as_extrapolated) {
  double last = 0;
  for (double width : {1024.0, 1200.0, 1448.0}) {
    const double error = price(even_machine(), Pass::forward, 256, width, width).relative_error;
    EXPECT_GT(error, last) << width;
    last = error;
  }
  const ProductPrice far = price(even_machine(), Pass::forward, 256, 65536, 65536);
  EXPECT_GT(far.relative_error, last);
  EXPECT_TRUE(far.extrapolated);
  EXPECT_FALSE(price(even_machine(), Pass::forward, 256, 2048, 2048).extrapolated);
}

TEST(ProductTables, an_unmeasured_dtype_lists_what_there_is) {
  Machine m = even_machine();
  m.products[0].product.dtype = DType::bf16;
  test::expect_input_error([&] { (void)ProductTable(m, DType::fp16).price({}); },
                           {"machine test", "fp16", "fp32, bf16"});
  const Machine bare = machine_of({});
  test::expect_input_error([&] { (void)ProductTable(bare, DType::fp32).price({}); },
                           {"none at all"});
}

TEST(Memory, between_measured_working_sets_is_interpolated_over_logarithms) {
  const std::vector<MemoryPoint> points{{Bytes(1e6), BytesPerSecond(80e9)},
                                        {Bytes(1e8), BytesPerSecond(20e9)}};
  const auto at = [&](double bytes) {
    return bandwidth_at(points, Bytes(bytes), BytesPerSecond(20e9)).value();
  };
  EXPECT_DOUBLE_EQ(at(1e6), 80e9);
  EXPECT_NEAR(at(1e7), 40e9, 1);  // half way between 1e6 and 1e8: the geometric mean
  EXPECT_DOUBLE_EQ(at(1e8), 20e9);
  EXPECT_DOUBLE_EQ(at(1), 80e9);
  EXPECT_DOUBLE_EQ(at(1e12), 20e9);
  EXPECT_DOUBLE_EQ(bandwidth_at({}, Bytes(1e7), BytesPerSecond(5e9)).value(), 5e9);
}

TEST(Machines, find_links_and_host_costs_by_name) {
  Machine m;
  m.links.emplace_back().name = "a";
  m.links.emplace_back().name = "b";
  EXPECT_EQ(m.find_link("b"), &m.links[1]);
  EXPECT_EQ(m.find_link("B"), nullptr);
  EXPECT_EQ(m.host_costs(Engine::torch), nullptr);
  m.host[static_cast<std::size_t>(Engine::torch)] = HostCosts{};
  EXPECT_NE(m.host_costs(Engine::torch), nullptr);
  EXPECT_EQ(m.host_costs(Engine::native), nullptr);
}

TEST(Machines, engines_read_back_from_their_names) {
  EXPECT_EQ(engine_from(name(Engine::native)), Engine::native);
  EXPECT_EQ(engine_from(name(Engine::torch)), Engine::torch);
  EXPECT_FALSE(engine_from("pytorch"));
}

}  // namespace
}  // namespace ddpx
