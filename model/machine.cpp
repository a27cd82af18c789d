#include "model/machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/error.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr double kSameShape = 1e-6;  // distance in doublings below which a shape counts as measured
// Error of a transferred efficiency per doubling of distance, and where a shape counts as outside
// the calibration.
constexpr double kErrorPerDoubling = 0.03;
constexpr double kFarDoublings = 1.5;
// The same on GPUs, whose kernels take time in steps. Leaving out one of twelve widths at a time
// (two H200, three dtypes) a layer's three products are 3 to 10 % off in the median and 11 to 14 %
// in the root mean square, at about half a doubling.
constexpr double kErrorPerDoublingOfKernels = 0.25;
constexpr std::size_t kRecent = 32;  // shapes: a transformer's layers have 21

}  // namespace

std::string_view name(Engine engine) { return engine == Engine::native ? "native" : "torch"; }

std::optional<Engine> engine_from(std::string_view word) {
  if (word == "native") return Engine::native;
  if (word == "torch") return Engine::torch;
  return std::nullopt;
}

const Estimate<BytesPerSecond>& Machine::update_bandwidth(Optimizer optimizer) const {
  return optimizer == Optimizer::adamw && adamw_bandwidth ? *adamw_bandwidth : optimizer_bandwidth;
}

std::span<const MemoryPoint> Machine::update_points(Optimizer optimizer) const {
  return optimizer == Optimizer::adamw && adamw_bandwidth ? adamw_points : optimizer_points;
}

const HostCosts* Machine::host_costs(Engine engine) const {
  const auto& costs = host[static_cast<std::size_t>(engine)];
  return costs ? &*costs : nullptr;
}

Seconds Machine::longer_gap_of(Engine engine, double z) const {
  const auto& longer = longer_gap.at(static_cast<std::size_t>(engine));
  return longer ? longer->shifted(z) : Seconds{};
}

const Link* Machine::find_link(std::string_view link_name) const {
  for (const Link& link : links) {
    if (link.name == link_name) return &link;
  }
  return nullptr;
}

double Machine::spread(double samples) const {
  return std::hypot(rank_spread, sample_spread / std::sqrt(std::max(samples, 1.0)));
}

BytesPerSecond bandwidth_at(std::span<const MemoryPoint> points, Bytes working_set,
                            BytesPerSecond usual) {
  if (points.empty()) return usual;
  const auto after = std::find_if(points.begin(), points.end(), [&](const MemoryPoint& point) {
    return point.working_set >= working_set;
  });
  if (after == points.begin()) return points.front().bandwidth;
  if (after == points.end()) return points.back().bandwidth;
  const MemoryPoint& low = *(after - 1);
  const double share =
      std::log(working_set / low.working_set) / std::log(after->working_set / low.working_set);
  return low.bandwidth * std::pow(after->bandwidth / low.bandwidth, share);
}

ProductTable::ProductTable(Kept<Machine> machine, DType dtype) : machine_(machine), dtype_(dtype) {
  for (auto& points : points_) points.reserve(machine_.products.size());
  for (const ProductPoint& point : machine_.products) {
    const Product& p = point.product;
    if (p.dtype != dtype) continue;
    any_ = true;
    points_[static_cast<std::size_t>(p.pass)].push_back(&point);
  }
}

const std::vector<ProductTable::Entry>& ProductTable::entries(Pass pass) const {
  const auto index = static_cast<std::size_t>(pass);
  std::vector<Entry>& entries = entries_[index];
  if (!entries.empty()) return entries;
  for (const ProductPoint* point : points_[index]) {
    const Product& p = point->product;
    entries.push_back({std::log2(p.rows), std::log2(p.in), std::log2(p.out),
                       std::log(point->time.value.value() / p.flops().value()), point});
  }
  return entries;
}

void ProductTable::refuse() const {
  std::string have;
  for (DType candidate : {DType::fp32, DType::tf32, DType::bf16, DType::fp16}) {
    const bool measured =
        std::any_of(machine_.products.begin(), machine_.products.end(),
                    [&](const ProductPoint& p) { return p.product.dtype == candidate; });
    if (measured) have += (have.empty() ? "" : ", ") + std::string(name(candidate));
  }
  throw InputError("machine " + machine_.name, "has no measured product in " +
                                                   std::string(name(dtype_)) + "; it has " +
                                                   (have.empty() ? "none at all" : have));
}

ProductPrice ProductTable::price(const Product& product) const {
  if (!any_) refuse();
  const auto& points = points_[static_cast<std::size_t>(product.pass)];
  for (const ProductPoint* point : points) {
    const Product& p = point->product;
    if (p.rows == product.rows && p.in == product.in && p.out == product.out)
      return {point->time.value, point->time.relative_error, point->grid, false};
  }
  for (const auto& [shape, price] : recent_) {
    if (shape.pass == product.pass && shape.rows == product.rows && shape.in == product.in &&
        shape.out == product.out)
      return price;
  }
  const KernelPrices* known = kernels(product.pass);
  const ProductPrice price = known ? by_kernels(*known, product) : carried(product);
  recent_.reserve(kRecent);
  if (recent_.size() < kRecent) {
    recent_.emplace_back(product, price);
  } else {
    recent_[oldest_++ % kRecent] = {product, price};
  }
  return price;
}

const KernelPrices* ProductTable::kernels(Pass pass) const {
  std::optional<KernelPrices>& prices = kernels_[static_cast<std::size_t>(pass)];
  if (prices) return &*prices;
  const auto costs = std::find_if(
      machine_.kernel_costs.begin(), machine_.kernel_costs.end(),
      [&](const KernelCosts& known) { return known.pass == pass && known.dtype == dtype_; });
  const auto& points = points_[static_cast<std::size_t>(pass)];
  if (costs == machine_.kernel_costs.end() ||
      std::none_of(points.begin(), points.end(),
                   [](const ProductPoint* point) { return has_tile(*point); }))
    return nullptr;
  return &prices.emplace(*costs, points, machine_.device.multiprocessors);
}

ProductPrice ProductTable::by_kernels(const KernelPrices& kernels, const Product& product) const {
  const KernelPrices::Price price = kernels.of(product);
  return {price.time, price.error, price.grid, price.distance > kFarDoublings || price.outside};
}

ProductPrice ProductTable::carried(const Product& product) const {
  const auto& points = points_[static_cast<std::size_t>(product.pass)];
  const std::vector<Entry>* table = &entries(product.pass);
  double borrowed_error = 0;
  if (points.empty()) {
    // A pass that was not measured borrows another's rate; the three passes of one layer differ by
    // about 5 % (two H200).
    for (const Pass other : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
      if (!entries(other).empty()) table = &entries(other);
    }
    borrowed_error = 0.05;
  }
  const double rows = std::log2(product.rows);
  const double in = std::log2(product.in);
  const double out = std::log2(product.out);
  double weight_sum = 0;
  double log_rate = 0;
  double error = 0;
  double nearest = std::numeric_limits<double>::infinity();
  const Entry* closest = nullptr;
  // The two nearest whose kernel's tile is known.
  struct Near {
    double d2 = std::numeric_limits<double>::infinity();
    const ProductPoint* point = nullptr;
  };
  std::array<Near, 2> tiled;
  for (const Entry& entry : *table) {
    const double d2 = (entry.log_rows - rows) * (entry.log_rows - rows) +
                      (entry.log_in - in) * (entry.log_in - in) +
                      (entry.log_out - out) * (entry.log_out - out);
    if (d2 < nearest) {
      nearest = d2;
      closest = &entry;
    }
    if (d2 < tiled[1].d2 && entry.point->grid && entry.point->grid->tile.contiguous > 0) {
      tiled[1] = {d2, entry.point};
      if (d2 < tiled[0].d2) std::swap(tiled[0], tiled[1]);
    }
    const double weight = 1.0 / (d2 * d2 + 1e-9);
    weight_sum += weight;
    log_rate += weight * entry.log_seconds_per_flop;
    error += weight * entry.point->time.relative_error;
  }
  const double distance = std::sqrt(nearest);
  if (closest != nullptr && distance < kSameShape && borrowed_error == 0) {
    return {closest->point->time.value, closest->point->time.relative_error, closest->point->grid,
            false};
  }
  ProductPrice price;
  price.time = Seconds(std::exp(log_rate / weight_sum) * product.flops().value());
  price.extrapolated = distance > kFarDoublings;
  std::optional<CarriedKernel> kernel;
  for (const Near& near : tiled) {
    if (near.point == nullptr || borrowed_error > 0 || price.extrapolated) continue;
    const auto carried = carried_kernel(*near.point, product, machine_.device.multiprocessors,
                                        machine_.kernel_gap.value);
    if (carried && (!kernel || carried->time < kernel->time)) kernel = carried;
  }
  // Rates know how fast a size is, kernels at which step it stands; the mean of the two is nearer
  // than either.
  if (kernel) {
    price.time = Seconds(std::sqrt(price.time.value() * kernel->time.value()));
    price.grid = kernel->grid;
  }
  const double per_doubling = kernel ? kErrorPerDoublingOfKernels : kErrorPerDoubling;
  const double spread =
      std::hypot(error / weight_sum, per_doubling * std::min(distance, kFarthest));
  price.relative_error = std::hypot(spread, borrowed_error);
  return price;
}

}  // namespace ddpx
