// Tiles of a matrix product's kernel, by the tile size that the library's names carry
// ("..._tilesize128x256x32_...", "nvjet_sm90_tst_128x256_64x4_...",
// "..._s1688gemm_128x256_16x3_...").
#pragma once

#include <optional>
#include <string_view>

#include "model/operation.hpp"

namespace ddpx {

// Output elements over the tile's, both counted in whole tiles; nullopt where the name has no size.
// The tile's first number lies along the output's contiguous dimension (the library's matrices are
// column-major).
[[nodiscard]] std::optional<double> tiles_of(std::string_view kernel, const Product& product);

}  // namespace ddpx
