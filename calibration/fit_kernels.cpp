#include "calibration/fit_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/least_squares.hpp"
#include "model/conformal.hpp"
#include "model/estimate.hpp"
#include "model/kernel_costs.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

using Points = std::vector<const ProductPoint*>;

constexpr std::size_t kFewest = 12;  // five widths at three batches are 15
constexpr double kFarOff = 0.05;  // of a product's time; an own kernel's median is 2 to 5 % (H200)
// Where no width lies between two others: of the nine passes and dtypes of two H200 the errors are
// 0.04 to 0.13.
constexpr double kUsualError = 0.1;

// By least squares on relative error, once more with what is far off counting less.
std::optional<KernelParts> fitted(std::vector<CountedRow> rows) {
  if (rows.size() < kFewest) return std::nullopt;
  CountedCosts costs = costs_not_below_zero(rows);
  for (CountedRow& row : rows)
    row.scale *= std::sqrt(std::max(1.0, std::abs(costs.of(row) / row.value - 1) / kFarOff));
  costs = costs_not_below_zero(rows);
  KernelParts parts{};
  std::copy(costs.each.begin(), costs.each.end(), parts.begin());
  return any_kernel_costs(parts) ? std::optional(parts) : std::nullopt;
}

std::optional<KernelCosts> costs_of(const Points& points, int multiprocessors) {
  std::vector<CountedRow> rows;
  std::map<int, std::vector<CountedRow>> by_generation;
  for (const ProductPoint* point : points) {
    if (!has_tile(*point)) continue;
    const double split = splits_of(*point->grid);
    const KernelGrid grid = grid_on(*point->grid, split, point->product, multiprocessors);
    const KernelParts parts = parts_of(grid, split, point->product, multiprocessors);
    const double seconds = point->time.value.value();
    rows.push_back({{parts.begin(), parts.end()}, seconds, seconds});
    by_generation[grid.generation].push_back(rows.back());
  }
  const std::optional<KernelParts> of_all = fitted(std::move(rows));
  if (!of_all) return std::nullopt;
  KernelCosts costs{points.front()->product.pass,
                    points.front()->product.dtype,
                    *of_all,
                    kUsualError,
                    kUsualError,
                    {}};
  if (by_generation.size() < 2) return costs;
  for (auto& [generation, own] : by_generation) {
    if (const auto parts = fitted(std::move(own)))
      costs.generations.push_back({generation, *parts});
  }
  return costs;
}

double error_of(const std::vector<LeftOut>& left_out) {
  std::vector<double> errors;
  errors.reserve(left_out.size());
  for (const LeftOut& miss : left_out)
    errors.push_back(miss.log_error / std::sqrt(std::max(miss.distance, kNearestLeftOut)));
  const std::optional<double> half_width = conformal_half_width(errors);
  return half_width ? *half_width / kNormalQuantile90 : kUsualError;
}

// Appends the points that `judged` takes, forecast from those that `kept` takes.
template <class Kept, class Judged>
void leave_out(std::span<const ProductPoint* const> points, int multiprocessors, Kept kept,
               Judged judged, std::vector<LeftOut>& all) {
  Points rest;
  std::copy_if(points.begin(), points.end(), std::back_inserter(rest),
               [&](const ProductPoint* point) { return kept(point->product); });
  const std::optional<KernelCosts> costs = costs_of(rest, multiprocessors);
  if (!costs) return;
  const KernelPrices prices(*costs, rest, multiprocessors);
  for (const ProductPoint* point : points) {
    if (!judged(point->product)) continue;
    const KernelPrices::Price price = prices.of(point->product);
    all.push_back({point->product, std::log(price.time / point->time.value), price.distance});
  }
}

std::set<double> widths_of(std::span<const ProductPoint* const> points) {
  std::set<double> widths;
  for (const ProductPoint* point : points)
    if (point->product.in == point->product.out) widths.insert(point->product.in);
  return widths;
}

}  // namespace

std::vector<LeftOut> widths_left_out(std::span<const ProductPoint* const> points,
                                     int multiprocessors) {
  const std::set<double> widths = widths_of(points);
  std::vector<LeftOut> all;
  if (widths.size() < 3) return all;
  for (auto width = std::next(widths.begin()); width != std::prev(widths.end()); ++width) {
    leave_out(
        points, multiprocessors,
        [&](const Product& p) { return p.in != *width && p.out != *width; },
        [&](const Product& p) { return p.in == *width && p.out == *width; }, all);
  }
  return all;
}

std::vector<LeftOut> ends_left_out(std::span<const ProductPoint* const> points,
                                   int multiprocessors) {
  std::vector<LeftOut> all;
  std::set<double> rows;
  for (const ProductPoint* point : points) rows.insert(point->product.rows);
  for (std::size_t beyond = 1; beyond <= 2 && rows.size() > 2 * beyond; ++beyond) {
    const double fewest = *rows.begin();
    const double most = *rows.rbegin();
    const double least_kept = *std::next(rows.begin(), static_cast<std::ptrdiff_t>(beyond));
    const double most_kept = *std::next(rows.rbegin(), static_cast<std::ptrdiff_t>(beyond));
    leave_out(
        points, multiprocessors, [&](const Product& p) { return p.rows >= least_kept; },
        [&](const Product& p) { return p.rows == fewest; }, all);
    leave_out(
        points, multiprocessors, [&](const Product& p) { return p.rows <= most_kept; },
        [&](const Product& p) { return p.rows == most; }, all);
  }
  const std::set<double> widths = widths_of(points);
  if (widths.size() < 3) return all;
  for (const double width : {*widths.begin(), *widths.rbegin()}) {
    leave_out(
        points, multiprocessors, [&](const Product& p) { return p.in != width && p.out != width; },
        [&](const Product& p) { return p.in == width && p.out == width; }, all);
  }
  return all;
}

void fit_kernels(Machine& machine) {
  machine.kernel_costs.clear();
  const int multiprocessors = machine.device.multiprocessors;
  if (multiprocessors <= 0) return;
  std::map<std::pair<DType, Pass>, Points> groups;
  for (const ProductPoint& point : machine.products)
    groups[{point.product.dtype, point.product.pass}].push_back(&point);
  for (const auto& [key, points] : groups) {
    std::optional<KernelCosts> costs = costs_of(points, multiprocessors);
    if (!costs) continue;
    costs->error = error_of(widths_left_out(points, multiprocessors));
    costs->error_outside = std::max(costs->error, error_of(ends_left_out(points, multiprocessors)));
    machine.kernel_costs.push_back(*costs);
  }
}

}  // namespace ddpx
