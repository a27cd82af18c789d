// What a topology matrix says of a box: see check_link.hpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <vector>

#include "model/scaled_link.hpp"
#include "predict/check_link.hpp"
#include "predict/link_words.hpp"
#include "predict/nvlink_ring.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

using PathMatrix = std::vector<std::vector<std::string>>;

struct Path {
  std::string_view word;
  std::string_view meaning;
};
// From the slowest to the fastest, all of them slower than NVLink.
constexpr std::array kPaths{
    Path{"SYS", "across the sockets' link"}, Path{"NODE", "across PCIe hosts of one socket"},
    Path{"PHB", "through a PCIe host bridge (the processor)"},
    Path{"PXB", "through several PCIe switches"}, Path{"PIX", "through one PCIe switch"}};

// The slowest of any pair; nullptr where NVLink joins all.
const Path* slowest_of(const PathMatrix& paths) {
  for (const Path& path : kPaths) {
    const bool found = std::any_of(paths.begin(), paths.end(), [&](const auto& row) {
      return std::find(row.begin(), row.end(), path.word) != row.end();
    });
    if (found) return &path;
  }
  return nullptr;
}

NvlinkCounts nvlinks_of(const PathMatrix& paths) {
  NvlinkCounts links(paths.size(), std::vector<int>(paths.size()));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t k = 0; k < paths.size(); ++k) {
      const std::string_view word = paths[i][k];
      if (i != k && word.starts_with("NV"))
        std::from_chars(word.data() + 2, word.data() + word.size(), links[i][k]);
    }
  }
  return links;
}

struct PairLinks {
  int fewest = 0;
  int most = 0;
};
PairLinks pair_links(const NvlinkCounts& links) {
  PairLinks pairs{links[0][1], links[0][1]};
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      pairs.fewest = std::min(pairs.fewest, links[i][k]);
      pairs.most = std::max(pairs.most, links[i][k]);
    }
  }
  return pairs;
}

// NVLinks of a GPU that such a link of the table is the sum of: 25 GB/s each in one direction up to
// the fourth generation, 50 in the fifth.
constexpr BytesPerSecond kNvlink{25e9};
constexpr BytesPerSecond kNvlink5{50e9};
constexpr int kMostNvlinks = 18;
bool of_fifth(const Link& link) { return link.peak > kNvlink * kMostNvlinks; }
int nvlinks_in(const Link& link) {
  return static_cast<int>(link.peak / (of_fifth(link) ? kNvlink5 : kNvlink) + 0.5);
}
bool is_bridge(const Link& link) { return link.most_ranks.has_value(); }

// How many links a GPU may have in use. The counts of a switch are a GPU's, the same for every
// pair; those of a mesh add up, and rings use what joins its parts.
std::vector<int> in_use(const NvlinkCounts& links) {
  const PairLinks pairs = pair_links(links);
  const int mesh = most_ring_links(links);
  std::vector<int> counts;
  if (mesh <= kMostNvlinks) counts.push_back(mesh);
  if (pairs.fewest == pairs.most && pairs.fewest != mesh) counts.push_back(pairs.fewest);
  return counts;
}

// Links of the table with as many NVLinks; else what so many of a generation that has more would
// give. NVLink 5 joins through switches only, with all of its links.
std::vector<Link> nvlink_candidates(const NvlinkCounts& links, std::span<const Link> table) {
  const int gpus = static_cast<int>(links.size());
  const std::vector<int> counts = in_use(links);
  std::vector<Link> candidates;
  bool whole = false;
  for (const Link& link : table) {
    if (link.topology != Topology::nvlink || !(link.peak.value() > 0) || link.reach() < gpus)
      continue;
    if (std::find(counts.begin(), counts.end(), nvlinks_in(link)) == counts.end()) continue;
    candidates.push_back(link);
    whole = whole || !is_bridge(link);
  }
  if (whole || counts.empty()) return candidates;
  for (const Link& link : table) {
    const int all = nvlinks_in(link);
    const int used = counts.front();
    if (link.topology != Topology::nvlink || link.reach() < gpus || is_bridge(link) ||
        of_fifth(link) || used >= all)
      continue;
    candidates.push_back(with_bandwidth(link, static_cast<double>(used) / all));
    candidates.back().name += " with " + std::to_string(used) + " of " + std::to_string(all);
  }
  return candidates;
}

std::string count_words(const PairLinks& pairs) {
  const std::string fewest = "NV" + std::to_string(pairs.fewest);
  return pairs.fewest == pairs.most ? fewest : fewest + " to NV" + std::to_string(pairs.most);
}

std::string ring_text(const NvlinkCounts& links) {
  const auto ring = nvlink_ring(links);
  if (!ring) return {};
  std::string text;
  for (const int gpu : *ring) text += std::to_string(gpu) + "-";
  return " (" + text + "0)";
}

std::string links_text(int count) {
  return std::to_string(count) + (count == 1 ? " NVLink" : " NVLinks");
}

}  // namespace

LinkCheck expected_of_paths(const PathMatrix& paths, std::size_t nics,
                            std::span<const Link> table) {
  const std::size_t gpus = paths.size();
  LinkCheck check;
  check.paths = Paths{gpus, nics, ""};
  std::string& text = check.text;
  if (gpus < 2) {
    text = wrapped("One GPU: no link to check.");
    return check;
  }
  const Path* slowest = slowest_of(paths);
  const NvlinkCounts links = nvlinks_of(paths);
  const PairLinks pairs = pair_links(links);
  const std::string count = std::to_string(gpus) + " GPUs";
  const bool ring = slowest == nullptr || has_nvlink_ring(links);
  check.paths->slowest =
      slowest == nullptr ? "NV" + std::to_string(pairs.fewest) : std::string(slowest->word);
  if (slowest == nullptr) {
    text = wrapped(count + ", every pair joined by NVLink (" + count_words(pairs) + ").");
  } else if (ring) {
    text =
        wrapped(count + ". The slowest pair is " + std::string(slowest->word) + ", " +
                std::string(slowest->meaning) + ", but a ring over all of them" + ring_text(links) +
                " is NVLink at every hop, and NCCL takes such rings: " + "together they have " +
                links_text(most_ring_links(links)) + " in each direction at most.");
  } else {
    text = wrapped(count + "; the slowest pair is " + std::string(slowest->word) + ", " +
                   std::string(slowest->meaning) +
                   ", and a ring over all of them has its pace. Whether peer-to-peer access works "
                   "the matrix does not say; without it every pair goes through host memory, and "
                   "two GPUs under one switch (PIX) share its uplink.");
  }
  if (nics > 0) text += wrapped(std::to_string(nics) + (nics == 1 ? " NIC." : " NICs."));
  std::vector<Link> candidates;
  if (ring) {
    candidates = nvlink_candidates(links, table);
  } else {
    std::copy_if(table.begin(), table.end(), std::back_inserter(candidates),
                 [](const Link& link) { return link.name.starts_with("pcie"); });
  }
  std::erase_if(candidates,
                [&](const Link& link) { return link.reach() < static_cast<int>(gpus); });
  if (candidates.empty()) {
    text += wrapped(
        "No link of the table (--list-links) has so many NVLinks, or joins so many "
        "GPUs.");
    return check;
  }
  text += wrapped("Expected bus bandwidth of a large all-reduce on " + count +
                  ", by what the link is:");
  for (const Link& link : candidates) {
    check.candidates.push_back(link_band(link, band_of(link, static_cast<int>(gpus))));
    text += candidate_line(check.candidates.back(), false);
  }
  return check;
}

}  // namespace ddpx
