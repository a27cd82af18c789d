#include "model/tiles.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {
namespace {

struct Output {
  double contiguous = 0;
  double across = 0;
  double inner = 0;  // dimension that the product sums over
};

Output output_of(const Product& product) {
  switch (product.pass) {
    case Pass::forward:
      return {product.out, product.rows, product.in};
    case Pass::data_gradient:
      return {product.in, product.rows, product.out};
    case Pass::weight_gradient:
      return {product.in, product.out, product.rows};
  }
  return {};
}

}  // namespace

double tiles_of(const OutputTile& tile, const Product& product) {
  if (tile.contiguous <= 0 || tile.across <= 0) return 0;
  const Output output = output_of(product);
  return std::ceil(output.contiguous / tile.contiguous) * std::ceil(output.across / tile.across);
}

double tiles_along(const OutputTile& tile, const Product& product) {
  return tile.contiguous > 0 ? std::ceil(output_of(product).contiguous / tile.contiguous) : 0;
}

double inner_of(const Product& product) { return output_of(product).inner; }

double output_elements(const Product& product) {
  const Output output = output_of(product);
  return output.contiguous * output.across;
}

double splits_of(const KernelGrid& grid) {
  if (grid.persistent || !(grid.tiles > 0)) return 1;
  return std::max(1.0, std::round(grid.blocks / grid.tiles));
}

double kernels_of(const KernelGrid& grid) { return splits_of(grid) > 1 ? 2 : 1; }

std::optional<CarriedKernel> carried_kernel(const ProductPoint& measured, const Product& product,
                                            int multiprocessors, Seconds gap) {
  if (!measured.grid || multiprocessors <= 0) return std::nullopt;
  const KernelGrid& grid = *measured.grid;
  if (!(tiles_of(grid.tile, measured.product) > 0) || !(measured.time.value > gap))
    return std::nullopt;
  const double split = splits_of(grid);
  const double turns = kernel_turns(grid, multiprocessors) * inner_of(measured.product) / split;
  CarriedKernel best;
  double least = 0;
  for (const double s : {split, 2 * split, std::max(1.0, std::floor(split / 2)), 1.0}) {
    if (split == 1 && s != 1) continue;
    KernelGrid carried = grid;
    carried.tiles = tiles_of(grid.tile, product);
    if (!grid.persistent) carried.blocks = carried.tiles * s;
    const double now = kernel_turns(carried, multiprocessors) * inner_of(product) / s;
    if (least > 0 && !(now < least)) continue;
    least = now;
    best.grid = carried;
  }
  best.time = gap + (measured.time.value - gap) * (least / turns);
  return best;
}

}  // namespace ddpx
