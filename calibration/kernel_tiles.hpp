// The output tile of a matrix product's kernel, by the size that the library's names carry
// ("..._tilesize128x256x32_...", "nvjet_sm90_tst_128x256_64x4_...",
// "..._s1688gemm_128x256_16x3_...").
#pragma once

#include <string_view>

#include "profiler/measurement.hpp"

namespace ddpx {

// Not known where the name has no size. The first number lies along the output's contiguous
// dimension (the library's matrices are column-major), after "tilesize" the second: fp32 grids of
// two H200 are whole numbers of such tiles in all 16 records in which only one of the two is.
[[nodiscard]] OutputTile tile_of(std::string_view kernel);

// Blocks of the grid that have a part of the output. CUTLASS 2 launches, along the contiguous
// dimension, whole groups of 8 tiles from 6 on, of 4 from 3 on and of 2 from 2 on
// (GemmIdentityThreadblockSwizzle::get_log_tile), and blocks without a tile end at once.
[[nodiscard]] double working_blocks(const KernelRecord& kernel, const Product& product);

}  // namespace ddpx
