#include "model/target.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx {

double CriticalBatch::middle() const { return std::sqrt(low) * std::sqrt(high); }

double steps_over_least(double batch, double critical) { return 1 + critical / batch; }
double samples_over_least(double batch, double critical) { return 1 + batch / critical; }

Interval samples_ratio(double one, double many, const CriticalBatch& critical) {
  const auto at = [&](double c) {
    return samples_over_least(many, c) / samples_over_least(one, c);
  };
  // A smaller critical batch makes every larger batch dearer.
  const double low = at(critical.high);
  const double high = at(critical.low);
  return {at(critical.middle()), std::min(low, high), std::max(low, high)};
}

double marginal_gain(double batch, double critical) { return critical / (batch + critical); }

std::string_view name(RateRule rule) { return rule == RateRule::linear ? "linear" : "square_root"; }

double rate_factor(RateRule rule, double one, double many) {
  return rule == RateRule::linear ? many / one : std::sqrt(many / one);
}

double rate_factor_of_curve(double one, double many, double critical) {
  return steps_over_least(one, critical) / steps_over_least(many, critical);
}

}  // namespace ddpx
