// What of the NVLinks between GPUs a ring over all of them can use. NCCL searches such rings
// (src/graph/search.cc), and a pair without a link of its own is no obstacle where they go round
// it: a DGX-1 of eight V100 is a cube mesh in which 12 of the 28 pairs meet over the processors
// only.
#pragma once

#include <optional>
#include <vector>

namespace ddpx {

// NVLinks between two GPUs, by their numbers; 0 for none.
using NvlinkCounts = std::vector<std::vector<int>>;

// The GPUs in the order of a ring whose every hop is an NVLink, from GPU 0; two GPUs with a link
// are one. nullopt where there is none, and for more than kMostSearched GPUs.
inline constexpr std::size_t kMostSearched = 16;
[[nodiscard]] std::optional<std::vector<int>> nvlink_ring(const NvlinkCounts& links);

// Of more GPUs, for certain: each has links to half of all or more (Dirac 1952). What has no ring
// or only may have one is not told apart.
[[nodiscard]] bool has_nvlink_ring(const NvlinkCounts& links);

// Links in one direction that all rings together have at most: every ring crosses from any part of
// the GPUs to the rest, so the fewest that join two parts; of more than kMostSearched GPUs the
// fewest that one has.
[[nodiscard]] int most_ring_links(const NvlinkCounts& links);

}  // namespace ddpx
