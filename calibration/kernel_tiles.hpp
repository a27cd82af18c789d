// The output tile of a matrix product's kernel, by the size that the library's names carry
// ("..._tilesize128x256x32_...", "nvjet_sm90_tst_128x256_64x4_...",
// "..._s1688gemm_128x256_16x3_...").
#pragma once

#include <string_view>

#include "model/contention.hpp"

namespace ddpx {

// Not known where the name has no size. The first number lies along the output's contiguous
// dimension (the library's matrices are column-major).
[[nodiscard]] OutputTile tile_of(std::string_view kernel);

}  // namespace ddpx
