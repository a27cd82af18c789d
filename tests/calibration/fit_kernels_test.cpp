// Kernels of known costs on a grid of shapes: the costs come out, and shapes left out are forecast.
#include "calibration/fit_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ddpx {
namespace {

constexpr int kSms = 132;
// Seconds of a launch, a multiply and add of a block, of a step of a wave and of a byte.
constexpr KernelParts kTrue{3e-6, 4e-12, 0, 1e-8, 0, 0, 0, 5e-14};
constexpr std::array kTiles{OutputTile{64, 64}, OutputTile{128, 128}, OutputTile{256, 128}};

double seconds_of(const Product& product, const OutputTile& tile) {
  const KernelParts parts =
      parts_of(grid_on({0, 1, false, tile}, 1, product, kSms), 1, product, kSms);
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) sum += kTrue[i] * parts[i];
  return sum;
}

// A library that picks the tile that takes least.
Machine library(std::initializer_list<double> widths, double odd_width = 0) {
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
    inside += std::abs(miss.log_error) <=
                      kNormalQuantile90 * error * std::sqrt(miss.distance) * (1 + 1e-12)
                  ? 1
                  : 0;
  EXPECT_GE(inside, std::ceil(0.9 * (static_cast<double>(left_out.size()) + 1)));
  EXPECT_GT(error, 0.1);
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
