#include "calibration/recorded_products.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration/kernel_tiles.hpp"
#include "calibration/least_squares.hpp"
#include "calibration/timed_steps.hpp"
#include "model/tiles.hpp"

namespace ddpx {
namespace {

constexpr double kRepeatFloor = 0.005;  // kernel times of one process repeat to half a per cent
constexpr std::size_t kFewestBoth = 6;
constexpr double kMostResidual = 0.25;

double recorded(const ProductSample& sample) {
  return summarise(sample.recorded_seconds, kRepeatFloor).median;
}

}  // namespace

RecordedProducts::RecordedProducts(const Measurements& measurements)
    : compute_capability_(measurements.device.compute_capability) {
  std::map<DType, std::vector<CountedRow>> rows;
  for (const ProductSample& sample : measurements.products) {
    if (sample.seconds.empty() || sample.recorded_seconds.empty()) continue;
    const double timed = summarise(sample.seconds, kRepeatFloor).median;
    rows[sample.product.dtype].push_back({{kernels_of(sample), recorded(sample)}, timed, timed});
  }
  for (const auto& [dtype, both] : rows) {
    if (both.size() < kFewestBoth) continue;
    const CountedCosts costs = counted_costs(both);
    // Records that do not go with the times, the rows' own included, say nothing of others.
    if (costs.each[1] > 0 && costs.residual < kMostResidual)
      scales_[dtype] = {Seconds(costs.each[0]), costs.each[1],
                        std::max(kRepeatFloor, costs.residual)};
  }
}

double RecordedProducts::kernels_of(const ProductSample& sample) const {
  if (!sample.kernel) return 1;
  return ddpx::kernels_of(grid_of(*sample.kernel, sample.product, compute_capability_));
}

std::optional<Estimate<Seconds>> RecordedProducts::time_of(const ProductSample& sample) const {
  if (!sample.seconds.empty()) {
    const SampleSummary time = summarise(sample.seconds, kRepeatFloor);
    return Estimate<Seconds>{Seconds(time.median), time.relative_error, "kernel times"};
  }
  const auto found = scales_.find(sample.product.dtype);
  if (found == scales_.end()) return std::nullopt;
  const Scale& scale = found->second;
  const SampleSummary record = summarise(sample.recorded_seconds, 0);
  return Estimate<Seconds>{kernels_of(sample) * scale.gap + Seconds(scale.factor * record.median),
                           std::hypot(scale.error, record.relative_error), "kernel records"};
}

}  // namespace ddpx
