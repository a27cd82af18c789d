// The output tile of a matrix product's kernel, by the size that the library's names carry
// ("..._tilesize128x256x32_...", "nvjet_sm90_tst_128x256_64x4_...",
// "..._s1688gemm_128x256_16x3_...").
#pragma once

#include <optional>
#include <string_view>

#include "profiler/measurement.hpp"

namespace ddpx {

// Not known where the name has no size. The first number lies along the output's contiguous
// dimension (the library's matrices are column-major), after "tilesize" the second: fp32 grids of
// two H200 are whole numbers of such tiles in all 16 records in which only one of the two is.
[[nodiscard]] OutputTile tile_of(std::string_view kernel);

// The compute capability in the name ("sm80_xmma_...", "cutlass_80_...", "nvjet_sm90_..."), 0 where
// it has none.
[[nodiscard]] int generation_of(std::string_view kernel);

// Blocks of the grid that have a part of the output; those without one end at once. nullopt where
// the tile is known and the grid no whole number of its tiles. (Of persistent kernels, whose grid
// is no number of tiles, and of tiles that are not known: all blocks.)
//
// CUTLASS 2 launches, along the contiguous dimension, whole groups of 8 tiles from 6 on, of 4 from
// 3 on and of 2 from 2 on (GemmIdentityThreadblockSwizzle::get_log_tile). A grid of nvjet is whole
// clusters of blocks, whose size is the third in the name ("..._2x1_v_...": two along the
// contiguous dimension), as CUDA wants of any grid with clusters. The library's xmma kernels launch
// what they need. Of the 2,016 records of two calibrations of H200 (docs/results/h200x2/fresh and
// torch-h200x2, whose library is another build) that explains all in which the three differ: 94 of
// CUTLASS 2, 29 of nvjet, 48 of xmma. It does not explain 16 of xmma's "segment_k", which launch 1
// to 18 blocks more than they have tiles.
[[nodiscard]] std::optional<double> working_blocks(const KernelRecord& kernel,
                                                   const Product& product);

// The kernel's grid on `product`; where working_blocks() does not know them, of all blocks and of a
// tile that is not known.
[[nodiscard]] KernelGrid grid_of(const KernelRecord& kernel, const Product& product,
                                 int compute_capability);

}  // namespace ddpx
