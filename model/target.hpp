// What a larger global batch costs: samples per second are not progress per second. The global
// batch grows with the GPUs and with accumulation, and beyond some size more samples per step
// hardly make the step better.
//
// McCandlish, Kaplan, Amodei et al. 2018 (arXiv:1812.06162): steps and samples to a target are
//
//   S(B) = S_min (1 + B_crit / B)        E(B) = E_min (1 + B / B_crit),   E_min = S_min B_crit
//
// The learning rate follows the batch: alpha_N = alpha_1 B_N / B_1 with a warm-up of 5 epochs for
// SGD (Goyal et al. 2017, arXiv:1706.02677: batch 256 to 8192, rate 0.1 to 3.2, ResNet-50, no
// accuracy lost up to there), by the square root for Adam and its like (Malladi et al. 2022,
// arXiv:2205.10287).
#pragma once

#include <string_view>

#include "model/estimate.hpp"

namespace ddpx {

// The critical batch in samples, as a range where it is not known to one value.
struct CriticalBatch {
  double low = 0;
  double high = 0;
  bool assumed = false;  // nobody gave it: the public range below

  [[nodiscard]] double middle() const;  // geometric
};
// 1 to 2 million tokens for language models near convergence, 1,000 to 2,000 sequences of 1024
// (Kaplan et al. 2020, arXiv:2001.08361); tens of thousands for ImageNet (McCandlish et al. 2018).
// Small data sets lie below, reinforcement learning far above.
inline constexpr CriticalBatch kPublicCriticalBatch{1'000, 20'000, true};

// S / S_min and E / E_min at a global batch.
[[nodiscard]] double steps_over_least(double batch, double critical);
[[nodiscard]] double samples_over_least(double batch, double critical);

// Samples to the target at global batch `many` over those at `one`; low and high over the range of
// the critical batch.
[[nodiscard]] Interval samples_ratio(double one, double many, const CriticalBatch& critical);

// Share of an ideal gain that a slightly larger batch has: -d ln S / d ln B = B_crit/(B + B_crit).
// One half at the critical batch: from there on more GPUs buy less than half.
[[nodiscard]] double marginal_gain(double batch, double critical);

enum class RateRule { linear, square_root };
[[nodiscard]] std::string_view name(RateRule rule);

inline constexpr double kWarmUpEpochs = 5;
// The largest batch to which the linear rule was shown to hold (Goyal et al. 2017).
inline constexpr double kLargestLinearBatch = 8192;

// Learning rate at `many` over that at `one`.
[[nodiscard]] double rate_factor(RateRule rule, double one, double many);
// The same by the curve of the critical batch: the best rate is eps_max / (1 + B_crit/B), linear
// well below the critical batch and constant well above it.
[[nodiscard]] double rate_factor_of_curve(double one, double many, double critical);

}  // namespace ddpx
