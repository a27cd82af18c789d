// What a library's kernel takes for a matrix product, and which of its kernels it would take.
//
// A kernel of tile m x n, of which a multiprocessor takes r in w waves (block_rounds), each over
// k/s of the inner dimension k where s blocks share a tile, takes
//
//   time = launch + k/s (multiply m n r + load (m + n) r + step w) + store m n r
//          + [s > 1] (split + sum output s) + traffic bytes + l2 T k (m + n)
//
// r goes in steps as the output grows. The last part is what all T tiles load, through the L2 cache
// that they share: 96 busy multiprocessors are faster each than 132. The nine costs are fitted for
// each pass and dtype on products whose kernels are known (calibration/fit_kernels.hpp), and, where
// a library has kernels of several generations of tensor cores, for each of these. Of the kernels
// that were seen the library is taken to pick the one that takes least, and what measured shapes
// take longer than theirs by this rule, because the law or the rule is off, is interpolated:
//
//   time = least(shape) x exp(sum_i w_i ln(measured_i / least_i) / sum_i w_i),  w_i = 1/d_i^3
//
// over the nearest twelve, d_i the distance in doublings of rows, in and out (Shepard 1968; the
// exponent by docs/results/h200x2.md). No shape does more flops, or moves more bytes, in a second
// than the measured one that does most: the costs are regression coefficients, which beyond the
// measured shapes would let a product outrun the memory.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/contention.hpp"
#include "model/operation.hpp"

namespace ddpx {

struct ProductPoint;

// Doublings from the nearest measured shape beyond which the error of another grows no more.
inline constexpr double kFarthest = 4;
// Doublings, sqrt(2) log2(4/3): no nearer width has been left out (two H200), so that less is known
// only of a shape that the same kernel takes in as many waves. What is left out of shapes that lie
// closer says how far a shape at this distance may be off, and no more.
inline constexpr double kNearestLeftOut = 0.59;

inline constexpr std::array<std::string_view, 9> kKernelParts{
    "launch", "multiply", "load", "step", "store", "split", "sum", "traffic", "l2"};
using KernelParts = std::array<double, kKernelParts.size()>;

// The costs of kernels of one KernelGrid::generation.
struct GenerationCosts {
  int generation = 0;
  KernelParts seconds{};
};

struct KernelCosts {
  Pass pass = Pass::forward;
  DType dtype = DType::fp32;
  KernelParts seconds{};  // of each part's unit
  // One standard error of a shape one doubling from the nearest measured one; goes with the root of
  // the distance. From widths left out.
  double error = 0;
  // The same of a shape with fewer or more rows, or a narrower or wider layer, than any that was
  // measured, or one whose rows of a matrix do not begin at multiples of 16 bytes.
  double error_outside = 0;
  // Of generations that have their own; the rest have `seconds`, fitted on all.
  std::vector<GenerationCosts> generations;

  [[nodiscard]] const KernelParts& of(int generation) const;
};

// Whether a part that every kernel has costs anything: prices need one.
[[nodiscard]] bool any_kernel_costs(const KernelParts& seconds);

// The kernel on `product`, which needs a tile that is known; `split` in so many parts.
[[nodiscard]] KernelGrid grid_on(const KernelGrid& kernel, double split, const Product& product,
                                 int multiprocessors);

// How many units of each part it has on `product`; its grid must be that shape's.
[[nodiscard]] KernelParts parts_of(const KernelGrid& grid, double split, const Product& product,
                                   int multiprocessors);

// Prices shapes of one pass and dtype by costs and the points they were fitted on.
class KernelPrices {
 public:
  // `points` (not null, of that pass and dtype) must outlive it; those without a known tile only
  // say what is measured. At least one has a tile. Not safe to share between threads.
  KernelPrices(const KernelCosts& costs, std::span<const ProductPoint* const> points,
               int multiprocessors);

  struct Price {
    Seconds time{};
    KernelGrid grid;
    double distance = 0;   // doublings to the nearest point
    bool outside = false;  // see KernelCosts::error_outside
    double error = 0;      // relative, one standard error
  };
  [[nodiscard]] Price of(const Product& product) const;

 private:
  struct Kernel {
    KernelGrid grid;  // of a shape that was measured
    double split = 1;
  };
  struct Known {
    double log_rows, log_in, log_out;  // to base 2
    const ProductPoint* point;
    mutable std::optional<double> log_ratio;  // measured over least, found when first asked for
  };
  struct Least {
    double seconds = 0;
    KernelGrid grid;
  };
  struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    void take(double value) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    [[nodiscard]] bool holds(double value) const { return value >= low && value <= high; }
  };
  [[nodiscard]] bool outside(const Product& product) const;
  [[nodiscard]] Least least(const Product& product) const;
  [[nodiscard]] double log_ratio(const Known& known) const;

  KernelCosts costs_;
  int multiprocessors_;
  Range rows_, in_, out_;
  double most_flops_ = 0;  // a second, of any point
  double most_bytes_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<Known> known_;
};

// Whether a point can be fitted by: a tile that is known, on a GPU.
[[nodiscard]] bool has_tile(const ProductPoint& point);

}  // namespace ddpx
