// Tiles of matrix products, and what a library's kernel takes for a shape that was not measured.
//
// A kernel of tile m x n covers an output of T = ceil(columns/m) ceil(rows/n) tiles, each one
// block's work (or, split, several blocks' with a part of the inner dimension each), or shared out
// by a persistent kernel. So its time goes in steps as the output grows:
//
//   time - gap  is proportional to  turns(grid) x inner / split      (kernel_turns, contention.hpp)
//
// The library picks among such kernels the one that takes least, and its choice for a near shape is
// a likely one.
#pragma once

#include <optional>

#include "model/machine.hpp"

namespace ddpx {

// Output elements over the tile's, both in whole tiles. The tile's first number lies along the
// output's contiguous dimension. 0 for a tile that is not known.
[[nodiscard]] double tiles_of(const OutputTile& tile, const Product& product);

// Tiles along the output's contiguous dimension.
[[nodiscard]] double tiles_along(const OutputTile& tile, const Product& product);

// The dimension that the product sums over, and the elements of its output.
[[nodiscard]] double inner_of(const Product& product);
[[nodiscard]] double output_elements(const Product& product);

// Into how many parts a kernel splits the inner dimension, by its blocks for each tile; 1 where the
// tiles are not known.
[[nodiscard]] double splits_of(const KernelGrid& grid);

// Kernels of a product: a split one leaves sums that a second kernel adds up (cuBLAS).
[[nodiscard]] double kernels_of(const KernelGrid& grid);

struct CarriedKernel {
  Seconds time{};
  KernelGrid grid;
};

// `measured`'s kernel on `product`, which is of the same pass and dtype, with the split that takes
// least of the measured one, its half, its double and none. nullopt where the tile is not known.
[[nodiscard]] std::optional<CarriedKernel> carried_kernel(const ProductPoint& measured,
                                                          const Product& product,
                                                          int multiprocessors, Seconds gap);

}  // namespace ddpx
