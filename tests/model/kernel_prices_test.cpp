// KernelPrices looks at few kernels and few points; here it is held against the rule of
// kernel_costs.hpp as it stands there, which looks at all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "model/kernel_costs.hpp"
#include "model/machine.hpp"
#include "model/tiles.hpp"
#include "tests/model/h200.hpp"

namespace ddpx {
namespace {

using test::kSms;

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  double log_between(double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(engine_));
  }
  int of(int count) { return std::uniform_int_distribution(0, count - 1)(engine_); }
  double size() { return of(3) == 0 ? std::exp2(of(14)) : std::ceil(log_between(1, 20000)); }
  Product product(Pass pass) { return {pass, DType::fp32, size(), size(), size()}; }

 private:
  std::mt19937 engine_;
};

// In the neighbourhood of two H200's fp32; now and then a part costs nothing, so that kernels tie.
KernelCosts random_costs(Draw& draw, Pass pass) {
  constexpr KernelParts kUsual{8e-7, 4e-12, 6e-12, 3e-8, 7e-11, 6e-6, 2e-12, 4e-14};
  KernelCosts costs;
  costs.pass = pass;
  for (std::size_t i = 0; i < kUsual.size(); ++i)
    costs.seconds[i] = draw.of(5) == 0 ? 0 : kUsual[i] * draw.log_between(0.1, 10);
  costs.seconds[1] = std::max(costs.seconds[1], 1e-13);
  costs.error = 0.05;
  costs.error_outside = 0.1;
  return costs;
}

std::vector<ProductPoint> random_points(Draw& draw, Pass pass, const KernelCosts& costs) {
  constexpr std::array kTiles{32, 64, 128, 256};
  std::vector<ProductPoint> points;
  const auto tile = [&] { return kTiles.at(static_cast<std::size_t>(draw.of(4))); };
  const int count = 1 + draw.of(80);
  for (int i = 0; i < count; ++i) {
    ProductPoint point;
    point.product = draw.product(pass);
    const KernelGrid kernel{kSms, 1.0 + draw.of(4), draw.of(4) == 0, {tile(), tile()}};
    const double split = kernel.persistent ? 1 : std::exp2(std::max(0, draw.of(8) - 4));
    point.grid = grid_on(kernel, split, point.product, kSms);
    const KernelParts parts = parts_of(*point.grid, split, point.product, kSms);
    const double seconds =
        std::inner_product(parts.begin(), parts.end(), costs.seconds.begin(), 0.0);
    point.time = {Seconds(seconds * draw.log_between(0.7, 1.5)), 0.01, ""};
    if (i > 0 && draw.of(6) == 0) point.grid.reset();
    points.push_back(point);
  }
  return points;
}

// The first kernel of those that take least, of all points in turn.
struct Scanned {
  double seconds = std::numeric_limits<double>::infinity();
  KernelGrid grid;
};
Scanned scan(const std::vector<ProductPoint>& points, const KernelCosts& costs,
             const Product& product) {
  Scanned best;
  for (const ProductPoint& point : points) {
    if (!has_tile(point)) continue;
    const double split = splits_of(*point.grid);
    const KernelGrid grid = grid_on(*point.grid, split, product, kSms);
    const KernelParts parts = parts_of(grid, split, product, kSms);
    const double seconds =
        std::inner_product(costs.seconds.begin(), costs.seconds.end(), parts.begin(), 0.0);
    if (seconds < best.seconds) best = {seconds, grid};
  }
  return best;
}

// nullopt where two points are as far: which of them counts, and comes first, the rule leaves open.
std::optional<double> time_by_rule(const std::vector<ProductPoint>& points,
                                   const KernelCosts& costs, const Product& product) {
  std::vector<std::pair<double, const ProductPoint*>> by_distance;
  double most_flops = 0;
  double most_bytes = 0;
  for (const ProductPoint& point : points) {
    const Product& p = point.product;
    const std::array by{std::log2(p.rows) - std::log2(product.rows),
                        std::log2(p.in) - std::log2(product.in),
                        std::log2(p.out) - std::log2(product.out)};
    by_distance.emplace_back(by[0] * by[0] + by[1] * by[1] + by[2] * by[2], &point);
    const double seconds = point.time.value.value();
    most_flops = std::max(most_flops, p.flops().value() / seconds);
    most_bytes = std::max(most_bytes, p.bytes().value() / seconds);
  }
  std::sort(by_distance.begin(), by_distance.end());
  for (std::size_t i = 1; i < std::min<std::size_t>(by_distance.size(), 13); ++i)
    if (by_distance[i].first == by_distance[i - 1].first) return std::nullopt;
  by_distance.resize(std::min<std::size_t>(by_distance.size(), 12));
  double weights = 0;
  double sum = 0;
  for (const auto& [d2, point] : by_distance) {
    const double weight = 1 / (d2 * std::sqrt(d2) + 1e-9);
    weights += weight;
    sum +=
        weight * std::log(point->time.value.value() / scan(points, costs, point->product).seconds);
  }
  return std::max({scan(points, costs, product).seconds * std::exp(sum / weights),
                   product.flops().value() / most_flops, product.bytes().value() / most_bytes});
}

TEST(KernelPrices, are_those_of_the_rule_to_the_last_bit) {
  int products = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const auto pass = static_cast<Pass>(draw.of(3));
    const KernelCosts costs = random_costs(draw, pass);
    const std::vector<ProductPoint> points = random_points(draw, pass, costs);
    std::vector<const ProductPoint*> all;
    for (const ProductPoint& point : points) all.push_back(&point);
    const KernelPrices prices(costs, all, kSms);
    for (int i = 0; i < 200; ++i) {
      const Product product = draw.product(pass);
      const KernelPrices::Price price = prices.of(product);
      const Scanned least = scan(points, costs, product);
      if (const auto time = time_by_rule(points, costs, product)) {
        ASSERT_EQ(price.time.value(), *time) << "seed " << seed << ", product " << i;
        ++products;
      }
      ASSERT_EQ(price.grid.tile.contiguous, least.grid.tile.contiguous);
      ASSERT_EQ(price.grid.tile.across, least.grid.tile.across);
      ASSERT_EQ(price.grid.per_multiprocessor, least.grid.per_multiprocessor);
      ASSERT_EQ(price.grid.blocks, least.grid.blocks);
      ASSERT_EQ(price.grid.tiles, least.grid.tiles);
      ASSERT_EQ(price.grid.persistent, least.grid.persistent);
    }
  }
  EXPECT_GT(products, 5000);
}

}  // namespace
}  // namespace ddpx
