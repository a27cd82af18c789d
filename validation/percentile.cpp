#include "validation/percentile.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double rank = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double share = rank - static_cast<double>(below);
  return values[below] + share * (values[above] - values[below]);
}

}  // namespace ddpx
