#include "calibration/kernel_tiles.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr int kLargestTile = 4096;

// "128x256..." at the beginning of `text`.
std::optional<OutputTile> tile_at(std::string_view text) {
  const char* const end = text.data() + text.size();
  OutputTile tile;
  const auto first = std::from_chars(text.data(), end, tile.contiguous);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, tile.across);
  if (second.ec != std::errc()) return std::nullopt;
  const auto sensible = [](int size) { return size > 0 && size <= kLargestTile; };
  return sensible(tile.contiguous) && sensible(tile.across) ? std::optional(tile) : std::nullopt;
}

}  // namespace

OutputTile tile_of(std::string_view kernel) {
  constexpr std::string_view kWord = "tilesize";
  if (const std::size_t at = kernel.find(kWord); at != std::string_view::npos) {
    const OutputTile tile = tile_at(kernel.substr(at + kWord.size())).value_or(OutputTile{});
    return {tile.across, tile.contiguous};
  }
  for (std::size_t at = kernel.find('_'); at != std::string_view::npos;
       at = kernel.find('_', at + 1)) {
    if (const auto tile = tile_at(kernel.substr(at + 1))) return *tile;
  }
  return {};
}

double working_blocks(const KernelRecord& kernel, const Product& product) {
  const OutputTile tile = tile_of(kernel.name);
  const double tiles = tiles_of(tile, product);
  if (kernel.name.find("cutlass_80") == std::string::npos || !(tiles > 0)) return kernel.blocks;
  const double along = tiles_along(tile, product);
  const double group = along >= 6 ? 8 : along >= 3 ? 4 : along >= 2 ? 2 : 1;
  const double launched = std::ceil(along / group) * group * (tiles / along);
  const double split = kernel.blocks / launched;
  return split >= 1 && split == std::floor(split) ? split * tiles : kernel.blocks;
}

}  // namespace ddpx
