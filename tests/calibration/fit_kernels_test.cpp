// Kernels of known costs on a grid of shapes: the costs come out, and shapes left out are forecast.
#include "calibration/fit_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace ddpx {
namespace {

constexpr int kSms = 132;
// Seconds of a launch, a multiply and add of a block, of a step of a wave and of a byte.
constexpr KernelParts kTrue{3e-6, 4e-12, 0, 1e-8, 0, 0, 0, 5e-14, 0};
constexpr std::array kTiles{OutputTile{64, 64}, OutputTile{128, 128}, OutputTile{256, 128}};

double seconds_of(const Product& product, const OutputTile& tile) {
  const KernelParts parts =
      parts_of(grid_on({0, 1, false, tile}, 1, product, kSms), 1, product, kSms);
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) sum += kTrue[i] * parts[i];
  return sum;
}

// A library that picks the tile that takes least.
Machine library(const std::set<double>& widths, double odd_width = 0) {
  Machine machine;
  machine.device.multiprocessors = kSms;
  for (const double width : widths) {
    for (const double rows : {64.0, 256.0, 1024.0, 4096.0}) {
      const Product product{Pass::forward, DType::fp32, rows, width, width};
      const OutputTile tile = *std::min_element(
          kTiles.begin(), kTiles.end(), [&](const OutputTile& a, const OutputTile& b) {
            return seconds_of(product, a) < seconds_of(product, b);
          });
      const double odd = width == odd_width ? 1.5 : 1.0;
      machine.products.push_back({product,
                                  {Seconds(odd * seconds_of(product, tile)), 0.005, ""},
                                  grid_on({0, 1, false, tile}, 1, product, kSms)});
    }
  }
  return machine;
}

TEST(FitKernels, recovers_the_costs_of_a_library) {
  Machine machine = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192});
  fit_kernels(machine);
  ASSERT_EQ(machine.kernel_costs.size(), 1);
  const KernelCosts& costs = machine.kernel_costs.front();
  EXPECT_EQ(costs.pass, Pass::forward);
  EXPECT_EQ(costs.dtype, DType::fp32);
  for (std::size_t i = 0; i < kTrue.size(); ++i)
    EXPECT_NEAR(costs.seconds[i], kTrue[i], 1e-6 * kTrue[i] + 1e-18) << kKernelParts[i];
  EXPECT_LT(costs.error, 1e-6);
}

TEST(FitKernels, a_width_left_out_is_forecast_with_its_waves) {
  Machine machine = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192});
  std::vector<const ProductPoint*> points;
  for (const ProductPoint& point : machine.products) points.push_back(&point);
  const std::vector<LeftOut> left_out = widths_left_out(points, kSms);
  EXPECT_EQ(left_out.size(), 6 * 4);
  for (const LeftOut& miss : left_out)
    EXPECT_NEAR(miss.log_error, 0, 1e-6) << miss.product.rows << " x " << miss.product.in;
}

// Widths of three times a power of two are the newer generation's, which takes half of every cost.
TEST(FitKernels, recovers_the_costs_of_each_generation) {
  const std::set<double> newer{192, 384, 768, 1536, 3072, 6144, 12288};
  Machine machine =
      library({128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288});
  for (ProductPoint& point : machine.products) {
    const bool is_newer = newer.contains(point.product.in);
    point.grid->generation = is_newer ? 90 : 80;
    if (is_newer) point.time.value *= 0.5;
  }
  fit_kernels(machine);
  ASSERT_EQ(machine.kernel_costs.size(), 1);
  const KernelCosts& costs = machine.kernel_costs.front();
  ASSERT_EQ(costs.generations.size(), 2);
  for (std::size_t i = 0; i < kTrue.size(); ++i) {
    EXPECT_NEAR(costs.of(80)[i], kTrue[i], 1e-6 * kTrue[i] + 1e-18) << kKernelParts[i];
    EXPECT_NEAR(costs.of(90)[i], 0.5 * kTrue[i], 1e-6 * kTrue[i] + 1e-18) << kKernelParts[i];
  }
  EXPECT_EQ(costs.of(0), costs.seconds) << "of kernels whose generation is not known";
}

// Rows of 64 and of 4096 from the rows beyond, and the widths of 512 and of 8192: of those that
// take half as long again as the law has it, all that were left out with their width are off by
// that.
TEST(FitKernels, the_ends_left_out_are_rows_and_widths_beyond_the_others) {
  const Machine machine = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192}, 512);
  std::vector<const ProductPoint*> points;
  for (const ProductPoint& point : machine.products) points.push_back(&point);
  const std::vector<LeftOut> ends = ends_left_out(points, kSms);
  ASSERT_EQ(ends.size(), 8 + 8 + 4 + 4);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(ends[i].product.rows, 64);
    EXPECT_EQ(ends[8 + i].product.rows, 4096);
    EXPECT_DOUBLE_EQ(ends[i].distance, 2) << "four times the rows are the nearest";
  }
  for (std::size_t i = 16; i < 20; ++i) {
    EXPECT_EQ(ends[i].product.in, 512);
    EXPECT_NEAR(ends[i].log_error, -std::log(1.5), 1e-6) << ends[i].product.rows;
  }
  for (std::size_t i = 20; i < 24; ++i) EXPECT_EQ(ends[i].product.in, 8192);
  Machine fitted = machine;
  fit_kernels(fitted);
  EXPECT_GE(fitted.kernel_costs.front().error_outside, fitted.kernel_costs.front().error);
}

// One width of six takes half as long again: more than one in ten, so that the error is that
// width's. Of equal ones more lie within.
TEST(FitKernels, the_error_holds_nine_in_ten_left_out) {
  Machine machine = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192}, 1536);
  fit_kernels(machine);
  std::vector<const ProductPoint*> points;
  for (const ProductPoint& point : machine.products) points.push_back(&point);
  const double error = machine.kernel_costs.front().error;
  int inside = 0;
  const std::vector<LeftOut> left_out = widths_left_out(points, kSms);
  for (const LeftOut& miss : left_out)
    inside += std::abs(miss.log_error) <= kNormalQuantile90 * error *
                                              std::sqrt(std::max(miss.distance, kNearestLeftOut)) *
                                              (1 + 1e-12)
                  ? 1
                  : 0;
  EXPECT_GE(inside, std::ceil(0.9 * (static_cast<double>(left_out.size()) + 1)));
  EXPECT_GT(error, 0.1);
}

// Widths 3 % apart say what a shape nearby may be off, not that a far one is off by thirty times as
// much.
TEST(FitKernels, the_error_of_widths_close_by_is_not_carried_away) {
  std::set<double> widths;
  for (double width = 1024; width <= 2048; width += 32) widths.insert(width);
  Machine machine = library(widths);
  for (ProductPoint& point : machine.products)
    point.time.value =
        point.time.value * (static_cast<int>(point.product.in) % 64 == 0 ? 1.02 : 0.98);
  fit_kernels(machine);
  EXPECT_LT(machine.kernel_costs.front().error, 0.06);
  EXPECT_GT(machine.kernel_costs.front().error, 0.01);
}

TEST(FitKernels, needs_twelve_products_whose_tiles_are_known_and_a_gpu) {
  Machine few = library({512, 2048});  // 8
  fit_kernels(few);
  EXPECT_TRUE(few.kernel_costs.empty());
  Machine unknown = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192});
  for (ProductPoint& point : unknown.products) point.grid.reset();
  fit_kernels(unknown);
  EXPECT_TRUE(unknown.kernel_costs.empty());
  Machine core = library({512, 768, 1024, 1536, 2048, 3072, 4096, 8192});
  core.device.multiprocessors = 0;
  fit_kernels(core);
  EXPECT_TRUE(core.kernel_costs.empty());
}

}  // namespace
}  // namespace ddpx
