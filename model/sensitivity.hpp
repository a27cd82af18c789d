// What 1 % of each constant is worth in a step: its elasticity, d ln(step) / d ln(constant), with
// the sign of a loss (times longer, bandwidths lower). They add up to 1 where every time of the
// step scales with one of them, so they say at once what the step is made of and what would shorten
// it: a constant that is hidden behind another is worth nothing.
#pragma once

#include <string_view>
#include <vector>

#include "model/step.hpp"

namespace ddpx {

struct Elasticity {
  std::string_view constant;  // "products", "link bandwidth", ...
  double per_cent = 0;        // of the step, for 1 % of the constant
};

// In a fixed order, all of them. By walking the step with each constant 1 % worse.
[[nodiscard]] std::vector<Elasticity> elasticities(const Machine& machine, const Link& link,
                                                   const Network& network, const Job& job);

}  // namespace ddpx
