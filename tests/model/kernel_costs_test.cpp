#include "model/kernel_costs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/machine.hpp"
#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

using test::kSms;
constexpr OutputTile kSquare{128, 128};

Product layer(double rows, double width, Pass pass = Pass::forward) {
  return {pass, DType::fp32, rows, width, width};
}

// 32 x 4 tiles on 132 multiprocessors: one block each, in one wave.
TEST(KernelParts, count_by_hand) {
  const Product product = layer(512, 4096);
  const KernelGrid grid = grid_on({0, 1, false, kSquare}, 1, product, kSms);
  EXPECT_EQ(grid.tiles, 128);
  EXPECT_EQ(grid.blocks, 128);
  const KernelParts parts = parts_of(grid, 1, product, kSms);
  const KernelParts expected{1,
                             4096.0 * 128 * 128,
                             4096.0 * 256,
                             4096,
                             128 * 128,
                             0,
                             0,
                             4 * (512.0 * 4096 + 4096.0 * 4096 + 512.0 * 4096),
                             128 * 4096.0 * 256};
  EXPECT_EQ(parts, expected);
}

// 1.25 times as wide: 160 tiles, of which 28 are a second wave, over 5120 steps.
TEST(KernelParts, of_a_second_wave_count_a_second_block) {
  const Product product = layer(512, 5120);
  const KernelParts parts =
      parts_of(grid_on({0, 1, false, kSquare}, 1, product, kSms), 1, product, kSms);
  EXPECT_EQ(parts[1], 2 * 5120.0 * 128 * 128);
  EXPECT_EQ(parts[3], 2 * 5120.0);
}

// 64 tiles (32 x 2) in four parts are 256 blocks of 1024 steps; two fit side by side, so that they
// are one wave in which a multiprocessor has two.
TEST(KernelParts, of_a_split_kernel_have_its_sums) {
  const Product product = layer(256, 4096);
  const KernelGrid grid = grid_on({0, 2, false, kSquare}, 4, product, kSms);
  EXPECT_EQ(grid.blocks, 256);
  const KernelParts parts = parts_of(grid, 4, product, kSms);
  EXPECT_EQ(parts[1], 1024.0 * 128 * 128 * 2);
  EXPECT_EQ(parts[3], 1024.0);
  EXPECT_EQ(parts[5], 1);
  EXPECT_EQ(parts[6], 256.0 * 4096 * 4);
}

// The weight gradient sums over rows; 16 x 32 tiles are taken in four rounds.
TEST(KernelParts, of_a_persistent_kernel_are_rounds_while_it_has_more_tiles_than_multiprocessors) {
  const KernelGrid kernel{kSms, 1, true, {256, 128}};
  const Product large = layer(1024, 4096, Pass::weight_gradient);
  const KernelGrid rounds = grid_on(kernel, 1, large, kSms);
  EXPECT_TRUE(rounds.persistent);
  EXPECT_EQ(rounds.blocks, kSms);
  EXPECT_EQ(parts_of(rounds, 1, large, kSms)[1], 4 * 1024.0 * 256 * 128);
  const KernelGrid few = grid_on(kernel, 1, layer(1024, 1024, Pass::weight_gradient), kSms);
  EXPECT_FALSE(few.persistent);
  EXPECT_EQ(few.blocks, 32);
}

ProductPoint measured(const Product& product, const OutputTile& tile, double over_costs,
                      const KernelCosts& costs) {
  ProductPoint point;
  point.product = product;
  point.grid = grid_on({0, 1, false, tile}, 1, product, kSms);
  const KernelParts parts = parts_of(*point.grid, 1, product, kSms);
  double seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) seconds += costs.seconds[i] * parts[i];
  point.time = {Seconds(seconds * over_costs), 0.01, ""};
  return point;
}

// 2 us and 1 ps for every multiply and add of a block.
KernelCosts even_costs() {
  KernelCosts costs;
  costs.seconds = {2e-6, 1e-12};
  costs.error = 0.1;
  return costs;
}

TEST(KernelCosts, of_split_kernels_alone_price_nothing) {
  KernelCosts costs;
  EXPECT_FALSE(any_kernel_costs(costs.seconds));
  costs.seconds = {0, 0, 0, 0, 0, 1e-6, 1e-12, 0};
  EXPECT_FALSE(any_kernel_costs(costs.seconds));
  costs.seconds[7] = 1e-13;
  EXPECT_TRUE(any_kernel_costs(costs.seconds));
}

// Half way between a shape at its costs and one at 1.21 times its costs a shape takes 1.1 times:
// the geometric mean. 16 x 2 tiles of 2048 steps.
TEST(KernelPrices, of_a_shape_between_two_are_its_costs_and_the_mean_of_what_those_take_longer) {
  const KernelCosts costs = even_costs();
  const std::vector<ProductPoint> points{measured(layer(256, 1024), kSquare, 1.0, costs),
                                         measured(layer(256, 4096), kSquare, 1.21, costs)};
  const std::vector<const ProductPoint*> all{&points[0], &points[1]};
  const KernelPrices::Price price = KernelPrices(costs, all, kSms).of(layer(256, 2048));
  EXPECT_NEAR(price.time.value(), 1.1 * (2e-6 + 2048 * 128 * 128 * 1e-12), 1e-12);
  EXPECT_EQ(price.grid.blocks, 32);
  EXPECT_NEAR(price.distance, std::sqrt(2.0), 1e-12);
}

// Two kernels of one tile: those of the newer generation multiply in half the time, and the library
// is taken to pick one.
TEST(KernelPrices, of_a_generation_with_costs_of_its_own_are_by_these) {
  KernelCosts costs = even_costs();
  costs.generations = {{90, {2e-6, 0.5e-12}}};
  std::vector<ProductPoint> points{measured(layer(256, 1024), kSquare, 1.0, costs),
                                   measured(layer(256, 4096), kSquare, 1.0, costs)};
  points[0].grid->generation = 80;
  points[1].grid->generation = 80;
  const auto seconds = [&] {
    const std::vector<const ProductPoint*> all{&points[0], &points[1]};
    return KernelPrices(costs, all, kSms).of(layer(256, 2048)).time.value();
  };
  EXPECT_NEAR(seconds(), 2e-6 + 2048 * 128 * 128 * 1e-12, 1e-12);
  for (ProductPoint& point : points) {
    point.grid->generation = 90;
    point.time.value = Seconds(2e-6 + (point.time.value.value() - 2e-6) / 2);
  }
  EXPECT_NEAR(seconds(), 2e-6 + 2048 * 128 * 128 * 0.5e-12, 1e-12);
}

TEST(KernelPrices, near_a_measured_shape_are_its_own) {
  const KernelCosts costs = even_costs();
  const std::vector<ProductPoint> points{measured(layer(256, 1024), kSquare, 1.0, costs),
                                         measured(layer(256, 4096), kSquare, 1.21, costs)};
  const std::vector<const ProductPoint*> all{&points[0], &points[1]};
  const KernelPrices::Price price = KernelPrices(costs, all, kSms).of(layer(256, 4096));
  EXPECT_NEAR(price.time / points[1].time.value, 1, 1e-7);
  EXPECT_EQ(price.distance, 0);
}

// At width 5120 the small tile needs a second wave of 132 and then multiplies as long as the one of
// 256 x 128 (80 tiles in one wave), whose steps are half as many.
TEST(KernelPrices, are_of_the_kernel_that_takes_least) {
  KernelCosts costs = even_costs();
  costs.seconds[3] = 1e-9;
  const std::vector<ProductPoint> points{
      measured(layer(512, 4096), kSquare, 1.0, costs),
      measured(layer(2048, 4096), {256, 128}, 1.0, costs),
  };
  const std::vector<const ProductPoint*> all{&points[0], &points[1]};
  const KernelPrices prices(costs, all, kSms);
  const KernelPrices::Price price = prices.of(layer(512, 5120));
  EXPECT_EQ(price.grid.tile.contiguous, 256);
  EXPECT_EQ(price.grid.blocks, 80);
  EXPECT_EQ(prices.of(layer(512, 4096)).grid.tile.contiguous, 128);
}

TEST(KernelPrices, are_the_tables_with_an_error_that_goes_with_the_root_of_the_distance) {
  Machine machine;
  machine.device.multiprocessors = kSms;
  machine.kernel_costs = {even_costs()};
  for (const double width : {1024.0, 4096.0})
    machine.products.push_back(measured(layer(256, width), kSquare, 1.0, even_costs()));
  const ProductTable table(machine, DType::fp32);
  const ProductPrice between = table.price(layer(256, 2048));
  EXPECT_NEAR(between.time.value(), 2e-6 + 2048 * 128 * 128 * 1e-12, 1e-12);
  EXPECT_NEAR(between.relative_error, std::hypot(0.01, 0.1 * std::pow(2.0, 0.25)), 1e-12);
  ASSERT_TRUE(between.grid);
  EXPECT_EQ(between.grid->blocks, 32);
  EXPECT_FALSE(between.extrapolated);
  EXPECT_TRUE(table.price(layer(256, 16384)).extrapolated);
  EXPECT_EQ(table.price(layer(256, 4096)).relative_error, 0.01);
}

// Two points of 1 us each: 4096 wide and 64 rows move 34.6 MB, 4096 rows compute 137 GFLOP. By the
// costs, a launch alone, every other shape would take 1 us too.
TEST(KernelPrices, outrun_no_measured_shape_in_flops_or_in_bytes) {
  KernelCosts costs;
  costs.seconds = {1e-6};
  const std::vector<ProductPoint> points{measured(layer(64, 4096), kSquare, 1.0, costs),
                                         measured(layer(4096, 4096), kSquare, 1.0, costs)};
  const std::vector<const ProductPoint*> all{&points[0], &points[1]};
  const KernelPrices prices(costs, all, kSms);
  EXPECT_NEAR(prices.of(layer(16384, 4096)).time.value(), 4e-6, 1e-12);  // four times the flops
  // 16384 wide and 1 row: 4 (16384^2 + 2 x 16384) bytes, of the large point's 4 x 3 x 4096^2 a us.
  EXPECT_NEAR(prices.of(layer(1, 16384)).time.value(),
              1e-6 * (16384.0 * 16384 + 2 * 16384) / (3 * 4096.0 * 4096), 1e-12);
}

TEST(KernelPrices, outside_what_was_measured_have_the_error_of_there) {
  KernelCosts costs = even_costs();
  costs.error_outside = 0.3;
  const std::vector<ProductPoint> points{measured(layer(64, 1024), kSquare, 1.0, costs),
                                         measured(layer(256, 4096), kSquare, 1.0, costs)};
  const std::vector<const ProductPoint*> all{&points[0], &points[1]};
  const KernelPrices prices(costs, all, kSms);
  EXPECT_FALSE(prices.of(layer(128, 2048)).outside);
  EXPECT_TRUE(prices.of(layer(32, 1024)).outside);   // one doubling from the nearest
  EXPECT_TRUE(prices.of(layer(512, 4096)).outside);  // alike
  EXPECT_TRUE(prices.of(layer(128, 512)).outside);
  EXPECT_TRUE(prices.of(layer(128, 2049)).outside);  // fp32: 16 bytes are four elements
  EXPECT_FALSE(prices.of(layer(128, 2052)).outside);
  EXPECT_NEAR(prices.of(layer(32, 1024)).error, std::hypot(0.01, 0.3), 1e-12);
}

// 4096 wide, 508 and 512 rows are 128 tiles, one wave of 132 multiprocessors; 513 rows are 160.
TEST(KernelPrices, near_a_measured_shape_are_as_sure_as_it_where_the_waves_are_the_same) {
  const KernelCosts costs = even_costs();
  const std::vector<ProductPoint> points{measured(layer(256, 4096), kSquare, 1.0, costs),
                                         measured(layer(512, 4096), kSquare, 1.0, costs),
                                         measured(layer(1024, 4096), kSquare, 1.0, costs)};
  const std::vector<const ProductPoint*> all{&points[0], &points[1], &points[2]};
  const KernelPrices prices(costs, all, kSms);
  EXPECT_NEAR(prices.of(layer(508, 4096)).error,
              std::hypot(0.01, 0.1 * std::sqrt(std::log2(512.0 / 508.0))), 1e-12);
  EXPECT_NEAR(prices.of(layer(513, 4096)).error, std::hypot(0.01, 0.1 * std::sqrt(0.59)), 1e-12);
}

}  // namespace
}  // namespace ddpx
