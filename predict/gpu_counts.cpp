#include "predict/gpu_counts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace ddpx {

GpuCounts::GpuCounts(int most, Look look) : look_(std::move(look)) {
  for (int count = 1; last_ < most; count = std::min(count + std::max(1, count / 8), most)) {
    if (look_at(count)) {
      last_ = count;
      continue;
    }
    while (last_ + 1 < count && look_at(last_ + 1)) ++last_;
    break;
  }
}

bool GpuCounts::look_at(int count) {
  if (counts_.count(count) > 0) return true;
  const std::optional<Count> looked = look_(count);
  if (looked) counts_.emplace(count, *looked);
  return looked.has_value();
}

const GpuCounts::Count& GpuCounts::at(int count) {
  look_at(count);
  return counts_.at(count);
}

std::vector<double> GpuCounts::speedups() const {
  std::vector<double> list;
  auto below = counts_.begin();
  for (auto above = counts_.begin(); above != counts_.end(); below = above++) {
    const double steps = above->first - below->first;
    for (int count = below->first + 1; count < above->first; ++count) {
      const double share = (count - below->first) / steps;
      list.push_back(below->second.speedup +
                     share * (above->second.speedup - below->second.speedup));
    }
    list.push_back(above->second.speedup);
  }
  return list;
}

// Every count up to the nearest ones looked at on either side.
void GpuCounts::look_around(int count) {
  const auto above = counts_.upper_bound(count);
  const auto at = counts_.lower_bound(count);
  const int from = at == counts_.begin() ? count : std::prev(at)->first;
  const int to = above == counts_.end() ? last_ : above->first;
  constexpr int kMostLooks = 64;  // of thousands a straight line between two says enough
  const int step = 1 + (to - from) / kMostLooks;
  for (int between = from; between <= to; between += step) look_at(between);
}

UsefulGpus GpuCounts::useful() {
  const UsefulGpus near = useful_gpus(speedups());
  if (!near.most_is_last) look_around(near.most);
  look_around(near.half);
  return useful_gpus(speedups());
}

}  // namespace ddpx
