#include "calibration/kernel_tiles.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr int kLargestTile = 4096;
constexpr int kOldest = 50;  // compute capabilities

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

// The size after the `before`th of a name's sizes, each of which follows a "_".
std::optional<OutputTile> size_after(std::string_view kernel, int before) {
  for (std::size_t at = kernel.find('_'); at != std::string_view::npos;
       at = kernel.find('_', at + 1)) {
    const auto size = tile_at(kernel.substr(at + 1));
    if (size && before-- == 0) return size;
  }
  return std::nullopt;
}

// Tiles whose blocks a grid holds whole groups of, along both dimensions of the output.
OutputTile launched_together(std::string_view kernel, double tiles_along) {
  if (kernel.find("cutlass_80") != std::string_view::npos)
    return {tiles_along >= 6 ? 8 : tiles_along >= 3 ? 4 : tiles_along >= 2 ? 2 : 1, 1};
  constexpr int kSizesBefore = 2;  // the tile, and the depth and count of what is staged
  if (kernel.starts_with("nvjet"))
    return size_after(kernel, kSizesBefore).value_or(OutputTile{1, 1});
  return {1, 1};
}

double in_groups(double tiles, int group) { return std::ceil(tiles / group) * group; }

}  // namespace

OutputTile tile_of(std::string_view kernel) {
  constexpr std::string_view kWord = "tilesize";
  if (const std::size_t at = kernel.find(kWord); at != std::string_view::npos) {
    const OutputTile tile = tile_at(kernel.substr(at + kWord.size())).value_or(OutputTile{});
    return {tile.across, tile.contiguous};
  }
  return size_after(kernel, 0).value_or(OutputTile{});
}

int generation_of(std::string_view kernel) {
  for (const std::string_view word : {"cutlass_", "sm"}) {
    for (std::size_t at = kernel.find(word); at != std::string_view::npos;
         at = kernel.find(word, at + 1)) {
      const std::string_view digits = kernel.substr(at + word.size());
      int generation = 0;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), generation);
      if (read.ec == std::errc() && generation >= kOldest && generation <= kNewestGeneration)
        return generation;
    }
  }
  return 0;
}

std::optional<double> working_blocks(const KernelRecord& kernel, const Product& product) {
  const OutputTile tile = tile_of(kernel.name);
  const double tiles = tiles_of(tile, product);
  if (kernel.persistent || !(tiles > 0)) return kernel.blocks;
  const double along = tiles_along(tile, product);
  const OutputTile group = launched_together(kernel.name, along);
  const double launched =
      in_groups(along, group.contiguous) * in_groups(tiles / along, group.across);
  const double split = kernel.blocks / launched;
  if (!(split >= 1) || split != std::floor(split)) return std::nullopt;
  return split * tiles;
}

KernelGrid grid_of(const KernelRecord& kernel, const Product& product, int compute_capability) {
  const std::optional<double> working = working_blocks(kernel, product);
  const double resident = resident_blocks(kernel.threads, kernel.registers_per_thread,
                                          kernel.shared_bytes, compute_capability);
  KernelGrid grid{working.value_or(kernel.blocks), resident, kernel.persistent,
                  working ? tile_of(kernel.name) : OutputTile{}};
  grid.tiles = tiles_of(grid.tile, product);
  grid.generation = generation_of(kernel.name);
  return grid;
}

}  // namespace ddpx
