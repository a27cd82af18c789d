#include "predict/nvlink_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace ddpx {
namespace {

using Set = std::uint32_t;  // of GPUs, one bit each

constexpr Set bit(std::size_t gpu) { return Set{1} << gpu; }

Set joined_to(const NvlinkCounts& links, std::size_t gpu) {
  Set joined = 0;
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (k != gpu && links[gpu][k] > 0) joined |= bit(k);
  }
  return joined;
}

int degree(const NvlinkCounts& links, std::size_t gpu) {
  int degree = 0;
  for (std::size_t k = 0; k < links.size(); ++k) degree += k != gpu && links[gpu][k] > 0 ? 1 : 0;
  return degree;
}

}  // namespace

std::optional<std::vector<int>> nvlink_ring(const NvlinkCounts& links) {
  const std::size_t n = links.size();
  if (n < 2 || n > kMostSearched) return std::nullopt;
  std::vector<Set> joined(n);
  for (std::size_t i = 0; i < n; ++i) joined[i] = joined_to(links, i);
  // Held and Karp (1962): where a path from GPU 0 over exactly these GPUs may end.
  const Set all = (Set{1} << n) - 1;
  std::vector<Set> ends(std::size_t{all} + 1);
  ends[1] = 1;
  for (Set seen = 1; seen <= all; seen += 2) {
    for (std::size_t last = 0; last < n; ++last) {
      if ((ends[seen] & bit(last)) == 0) continue;
      for (std::size_t next = 1; next < n; ++next) {
        if ((joined[last] & bit(next) & ~seen) != 0) ends[seen | bit(next)] |= bit(next);
      }
    }
  }
  Set closing = ends[all] & joined[0];
  if (closing == 0) return std::nullopt;
  std::vector<int> ring;
  for (Set seen = all; ring.size() < n;) {
    std::size_t last = 0;
    while ((closing & bit(last)) == 0) ++last;
    ring.push_back(static_cast<int>(last));
    seen &= ~bit(last);
    closing = ends[seen] & joined[last];
  }
  std::reverse(ring.begin(), ring.end());
  return ring;
}

bool has_nvlink_ring(const NvlinkCounts& links) {
  if (links.size() <= kMostSearched) return nvlink_ring(links).has_value();
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (2 * static_cast<std::size_t>(degree(links, i)) < links.size()) return false;
  }
  return true;
}

int most_ring_links(const NvlinkCounts& links) {
  const std::size_t n = links.size();
  int fewest = std::numeric_limits<int>::max();
  if (n < 2) return 0;
  if (n > kMostSearched) {
    for (std::size_t i = 0; i < n; ++i) {
      const int own = std::accumulate(links[i].begin(), links[i].end(), 0);
      fewest = std::min(fewest, own);
    }
    return fewest;
  }
  // Parts that hold GPU 0 and not all.
  for (Set part = 1; part < (Set{1} << n) - 1; part += 2) {
    int across = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        if ((part & bit(i)) != 0 && (part & bit(k)) == 0) across += links[i][k];
      }
    }
    fewest = std::min(fewest, across);
  }
  return fewest;
}

}  // namespace ddpx
