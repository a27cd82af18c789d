#include "model/conformal.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/error.hpp"

namespace ddpx {

std::optional<std::size_t> conformal_rank(std::size_t n, double coverage) {
  if (!(coverage > 0 && coverage < 1)) {
    throw InputError("conformal interval",
                     "coverage " + std::to_string(coverage) + " must lie between 0 and 1");
  }
  // 0.9 (n + 1) that should be whole may come out a rounding above it.
  constexpr double kRounding = 1e-9;
  const double rank = std::ceil(static_cast<double>(n + 1) * coverage - kRounding);
  if (rank < 1 || rank > static_cast<double>(n)) return std::nullopt;
  return static_cast<std::size_t>(rank) - 1;
}

std::optional<double> conformal_half_width(std::span<const double> relative_errors,
                                           double coverage) {
  std::vector<double> sizes;
  sizes.reserve(relative_errors.size());
  for (double error : relative_errors) {
    if (std::isnan(error)) throw InputError("conformal interval", "an error is not a number");
    sizes.push_back(std::abs(error));
  }
  const std::optional<std::size_t> rank = conformal_rank(sizes.size(), coverage);
  if (!rank) return std::nullopt;
  const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(*rank);
  std::nth_element(sizes.begin(), nth, sizes.end());
  return *nth;
}

}  // namespace ddpx
