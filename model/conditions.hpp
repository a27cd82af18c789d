// The four conditions under which N GPUs train N times as fast, each with its own figure:
//
//   communication is negligible   what sharing gradients costs of the step
//   the work is even              the fullest rank's work over the mean
//   no rank is slow               what waiting for the slowest of N costs
//   the loaders keep up           what they deliver over what the ranks consume
//
// The step waits for its slowest rank (synchronous training), so with compute times that are
// normally distributed around the mean m with standard deviation s m it takes the expected maximum
// of N draws longer: s m e(N), e(2) = 0.564, e(8) = 1.42 (Harter 1961). One rank with a known delay
// joins that maximum; it is not added to it.
#pragma once

#include <array>
#include <string_view>

#include "model/step.hpp"

namespace ddpx {

// How much longer than the mean the slowest of `ranks` computes, as a fraction: all have spread
// `spread`, and one of them is late by `delay` besides. Never less than either alone.
[[nodiscard]] double slowest_rank(double spread, int ranks, double delay);

enum class ConditionKind { communication, even_work, no_straggler, loader };
inline constexpr std::size_t kConditions = 4;
[[nodiscard]] std::string_view name(ConditionKind kind);

struct Condition {
  ConditionKind kind = ConditionKind::communication;
  // Whether anything was measured or given; where not, ideal is assumed and nothing is lost.
  bool known = true;
  // communication: the exchange's share of the step; even_work: the fullest rank over the mean;
  // no_straggler: the slowest rank over the mean; loader: delivered over consumed, or where the
  // loaders are not known the samples per second they must deliver.
  double figure = 0;
  // Share of the step that this condition alone costs: the step with it less the step without it.
  // What the device does while it would wait for the host or for data anyway costs nothing.
  double lost = 0;

  [[nodiscard]] bool holds() const;
};

// A condition that costs less of the step than this holds: no decision turns on it.
inline constexpr double kNegligibleShare = 0.05;

// The same job with no gradient shared, which is what communication costs are held against: a GPU
// that never waits may run at another clock, and the host has less to do.
[[nodiscard]] Job without_sharing(const Job& job);

// Of a step on several GPUs; `unshared` is that of without_sharing(job).
[[nodiscard]] std::array<Condition, kConditions> conditions(const Step& step, const Step& unshared,
                                                            double rank_spread, const Job& job);

}  // namespace ddpx
