// Gradient buckets, exactly as PyTorch's DistributedDataParallel fills them in the steady state
// (from the second iteration on): reducer.cpp, compute_bucket_assignment_by_size. Tensors come in
// the order their gradients arrive; a tensor is added to the open bucket and the bucket is closed
// when its size has *reached* the limit, so a bucket may exceed the limit by up to one tensor and
// no tensor is ever split. The first bucket has a limit of its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/units.hpp"

namespace ddpx {

struct BucketLimits {
  Bytes first = kMiB;        // 1 MiB when the user leaves bucket_cap_mb alone (DDP's default)
  Bytes rest = 25.0 * kMiB;  // DDP's default bucket_cap_mb

  // bucket_cap_mb given explicitly: since 2024 (pytorch#121640) the first limit is that cap too.
  [[nodiscard]] static BucketLimits explicit_cap(Bytes cap) { return {cap, cap}; }
  bool operator==(const BucketLimits&) const = default;
};

// Tensors [begin, end) of the arrival order travel in one all-reduce of `bytes`.
struct Bucket {
  std::size_t begin = 0;
  std::size_t end = 0;
  Bytes bytes{};
};

// Appends the buckets to `out` (cleared first), so that a caller in a hot loop can reuse its
// memory.
void assign_buckets(std::span<const Bytes> arrival, BucketLimits limits, std::vector<Bucket>& out);

}  // namespace ddpx
