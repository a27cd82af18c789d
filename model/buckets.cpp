#include "model/buckets.hpp"

namespace ddpx {

void assign_buckets(std::span<const Bytes> arrival, BucketLimits limits, std::vector<Bucket>& out) {
  out.clear();
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
