#include "model/buckets.hpp"

#include <algorithm>

namespace ddpx {

void assign_buckets(std::span<const Bytes> arrival, BucketLimits limits, std::vector<Bucket>& out) {
  constexpr std::size_t kUsualBuckets = 16;
  out.clear();
  out.reserve(std::min(arrival.size(), kUsualBuckets));
  Bytes limit = limits.first;
  Bucket open;
  for (std::size_t i = 0; i < arrival.size(); ++i) {
    open.bytes += arrival[i];
    open.end = i + 1;
    if (open.bytes >= limit) {
      out.push_back(open);
      limit = limits.rest;
      open = {open.end, open.end, Bytes{}};
    }
  }
  if (open.end > open.begin) out.push_back(open);
}

}  // namespace ddpx
