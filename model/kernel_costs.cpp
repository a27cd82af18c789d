#include "model/kernel_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/machine.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr double kNoDistance = 1e-9;  // cubed doublings: the same shape
// Further ones change the errors of widths left out by nothing.
constexpr std::size_t kNearest = 12;
constexpr double kAlignment = 16;  // bytes that a kernel loads at once

double dot(const KernelParts& a, const KernelParts& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

bool same_kernel(const KernelGrid& a, const KernelGrid& b) {
  return a.tile.contiguous == b.tile.contiguous && a.tile.across == b.tile.across &&
         a.per_multiprocessor == b.per_multiprocessor && a.persistent == b.persistent &&
         a.generation == b.generation;
}

bool aligned(const Product& product) {
  const double elements = kAlignment / element_bytes(product.dtype);
  return std::fmod(product.in, elements) == 0 && std::fmod(product.out, elements) == 0;
}

}  // namespace

const KernelParts& KernelCosts::of(int generation) const {
  for (const GenerationCosts& own : generations)
    if (own.generation == generation) return own.seconds;
  return seconds;
}

bool any_kernel_costs(const KernelParts& seconds) {
  for (std::size_t i = 0; i < kKernelParts.size(); ++i)
    if (kKernelParts[i] != "split" && kKernelParts[i] != "sum" && seconds[i] > 0) return true;
  return false;
}

bool has_tile(const ProductPoint& point) { return point.grid && point.grid->tiles > 0; }

KernelGrid grid_on(const KernelGrid& kernel, double split, const Product& product,
                   int multiprocessors) {
  KernelGrid grid = kernel;
  grid.tiles = tiles_of(kernel.tile, product);
  grid.persistent = kernel.persistent && grid.tiles > multiprocessors;
  if (!grid.persistent) grid.blocks = grid.tiles * split;
  return grid;
}

KernelParts parts_of(const KernelGrid& grid, double split, const Product& product,
                     int multiprocessors) {
  const auto [waves, blocks] = block_rounds(grid, multiprocessors);
  const double inner = inner_of(product) / split;
  const double tile = static_cast<double>(grid.tile.contiguous) * grid.tile.across;
  const double edges = static_cast<double>(grid.tile.contiguous) + grid.tile.across;
  const bool parted = split > 1;
  return {1,
          inner * tile * blocks,
          inner * edges * blocks,
          inner * waves,
          tile * blocks,
          parted ? 1.0 : 0.0,
          parted ? output_elements(product) * split : 0.0,
          product.bytes().value(),
          grid.tiles * inner_of(product) * edges};
}

KernelPrices::KernelPrices(const KernelCosts& costs, std::span<const ProductPoint* const> points,
                           int multiprocessors)
    : costs_(costs), multiprocessors_(multiprocessors) {
  for (const ProductPoint* point : points) {
    if (!has_tile(*point)) continue;
    const double split = splits_of(*point->grid);
    const bool known = std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& kernel) {
      return kernel.split == split && same_kernel(kernel.grid, *point->grid);
    });
    if (!known) kernels_.push_back({*point->grid, split});
  }
  known_.reserve(points.size());
  for (const ProductPoint* point : points) {
    const Product& p = point->product;
    rows_.take(p.rows);
    in_.take(p.in);
    out_.take(p.out);
    const double seconds = point->time.value.value();
    most_flops_ = std::max(most_flops_, p.flops().value() / seconds);
    most_bytes_ = std::max(most_bytes_, p.bytes().value() / seconds);
    known_.push_back({std::log2(p.rows), std::log2(p.in), std::log2(p.out), point, std::nullopt});
  }
}

// The first of the kernels that take least. Most take more than that even at their least, their
// blocks spread evenly and in one wave: ceilings only add to that, and no cost is negative.
KernelPrices::Least KernelPrices::least(const Product& product) const {
  constexpr double kRounding = 1 - 1e-9;  // of either sum
  // Of kKernelParts.
  enum Part { launch, multiply, load, step, store, parting, sum, traffic, l2 };
  const double inner = inner_of(product);
  const double output = output_elements(product);
  const double all = inner * output;
  const double bytes = product.bytes().value();
  const auto floor_of = [&](const Kernel& kernel) {
    const KernelParts& cost = costs_.of(kernel.grid.generation);
    const double across = kernel.grid.tile.across;
    const double contiguous = kernel.grid.tile.contiguous;
    const double loads = all * (across + contiguous) / (across * contiguous);
    const double split = kernel.split;
    return cost[launch] + cost[multiply] * all / multiprocessors_ + cost[traffic] * bytes +
           (cost[load] / multiprocessors_ + cost[l2]) * loads + cost[step] * inner / split +
           cost[store] * output * split / multiprocessors_ +
           (split > 1 ? cost[parting] + cost[sum] * output * split : 0.0);
  };
  Least best{std::numeric_limits<double>::infinity(), {}};
  std::size_t best_index = 0;
  const auto look = [&](std::size_t i) {
    const Kernel& kernel = kernels_[i];
    const KernelGrid grid = grid_on(kernel.grid, kernel.split, product, multiprocessors_);
    const double seconds =
        dot(costs_.of(grid.generation), parts_of(grid, kernel.split, product, multiprocessors_));
    if (seconds < best.seconds || (seconds == best.seconds && i < best_index)) {
      best = {seconds, grid};
      best_index = i;
    }
  };
  std::vector<double> floors(kernels_.size());
  std::transform(kernels_.begin(), kernels_.end(), floors.begin(), floor_of);
  look(static_cast<std::size_t>(std::min_element(floors.begin(), floors.end()) - floors.begin()));
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (!(floors[i] * kRounding > best.seconds)) look(i);
  }
  return best;
}

double KernelPrices::log_ratio(const Known& known) const {
  if (!known.log_ratio)
    known.log_ratio =
        std::log(known.point->time.value.value() / least(known.point->product).seconds);
  return *known.log_ratio;
}

bool KernelPrices::outside(const Product& product) const {
  return !rows_.holds(product.rows) || !in_.holds(product.in) || !out_.holds(product.out) ||
         !aligned(product);
}

KernelPrices::Price KernelPrices::of(const Product& product) const {
  const double rows = std::log2(product.rows);
  const double in = std::log2(product.in);
  const double out = std::log2(product.out);
  struct Near {
    double d2 = std::numeric_limits<double>::infinity();
    const Known* known = nullptr;
  };
  std::array<Near, kNearest> nearest;  // first
  for (const Known& known : known_) {
    Near near{(known.log_rows - rows) * (known.log_rows - rows) +
                  (known.log_in - in) * (known.log_in - in) +
                  (known.log_out - out) * (known.log_out - out),
              &known};
    if (!(near.d2 < nearest.back().d2)) continue;
    for (auto place = nearest.begin(); place != nearest.end() && near.known; ++place)
      if (near.d2 < place->d2) std::swap(near, *place);
  }
  double weights = 0;
  double sum = 0;
  for (const Near& near : nearest) {
    if (!near.known) break;
    const double weight = 1 / (near.d2 * std::sqrt(near.d2) + kNoDistance);
    weights += weight;
    sum += weight * log_ratio(*near.known);
  }
  const Least best = least(product);
  const ProductPoint& closest = *nearest.front().known->point;
  Price price{Seconds(std::max({best.seconds * std::exp(sum / weights),
                                product.flops().value() / most_flops_,
                                product.bytes().value() / most_bytes_})),
              best.grid, std::sqrt(nearest.front().d2), outside(product)};
  const bool alike = closest.grid && same_kernel(best.grid, *closest.grid) &&
                     block_rounds(best.grid, multiprocessors_).waves ==
                         block_rounds(*closest.grid, multiprocessors_).waves;
  const double distance =
      std::min(alike ? price.distance : std::max(price.distance, kNearestLeftOut), kFarthest);
  price.error =
      std::hypot(closest.time.relative_error,
                 (price.outside ? costs_.error_outside : costs_.error) * std::sqrt(distance));
  return price;
}

}  // namespace ddpx
