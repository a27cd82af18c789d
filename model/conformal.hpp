// Split conformal intervals: after validation, the interval's half-width is a quantile of the
// errors seen, with no assumption about their distribution (Vovk, Gammerman & Shafer 2005; Lei et
// al. 2018).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ddpx {

// Which of n sizes of error in ascending order, from 0, is the half-width: the ceil((n+1) *
// coverage)-th; nullopt when n is too small to support the coverage (n < 9 for 90 %).
[[nodiscard]] std::optional<std::size_t> conformal_rank(std::size_t n, double coverage);

// The |relative error| of that rank.
[[nodiscard]] std::optional<double> conformal_half_width(std::span<const double> relative_errors,
                                                         double coverage = 0.90);

}  // namespace ddpx
