#include "validation/run.hpp"

#include <algorithm>

#include "model/error.hpp"

namespace ddpx {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

}  // namespace

Interval RunRow::step_time_s() const {
  std::vector<double> medians;
  for (const RunProcess& process : processes) {
    if (!process.step_times_s.empty()) medians.push_back(median(process.step_times_s));
  }
  if (medians.empty()) throw InputError("runs row " + network, "has no step time");
  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  const double lowest = *low;
  const double highest = *high;
  return {median(std::move(medians)), lowest, highest};
}

std::string_view RunRow::link_name() const {
  return job.gpus == 1 ? std::string_view("one GPU") : link;
}

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::native:
      return "native";
    case Origin::torch:
      return "torch";
    case Origin::imported:
      return "imported";
  }
  return "?";
}

std::optional<Origin> origin_from(std::string_view word) {
  for (Origin origin : {Origin::native, Origin::torch, Origin::imported}) {
    if (name(origin) == word) return origin;
  }
  return std::nullopt;
}

}  // namespace ddpx
