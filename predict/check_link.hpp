// Is this right for my box? What was measured, what such a link usually gives at that count, which
// limit explains the figure, and what is likely wrong when it is below.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/link.hpp"

namespace ddpx {

enum class Standing { within, below, above };

// Usual bus bandwidth of a large all-reduce over `link` on `ranks`, with the range seen on public
// machines, carried to the count.
struct Band {
  BytesPerSecond low{};
  BytesPerSecond usual{};
  BytesPerSecond high{};

  [[nodiscard]] Standing standing(BytesPerSecond measured) const;
};
[[nodiscard]] Band band_of(const Link& link, int ranks);

// What a file says of a box.
struct MeasuredLink {
  std::string what;  // "all_reduce on 8 ranks" or "copies between GPUs"
  int ranks = 2;
  BytesPerSecond bus_bandwidth{};
  bool falls = false;   // bandwidth falls with the size
  bool copies = false;  // one pair's copies, not a collective: compared with the link's peak
};

struct LinkCheck {
  std::string text;
  Standing standing = Standing::within;
};

// Against one link that it should be; `table` names what the figure looks like instead.
[[nodiscard]] LinkCheck check_link(const MeasuredLink& measured, const Link& expected,
                                   std::span<const Link> table);
// Where the link is not named: the links in whose band the figure lies.
[[nodiscard]] LinkCheck check_link(const MeasuredLink& measured, std::span<const Link> table);

// What the paths of a topology matrix say, before anything is measured: the slowest path between
// GPUs, its meaning, and the band of the links it may be.
[[nodiscard]] std::string expected_of_paths(const std::vector<std::vector<std::string>>& paths,
                                            std::size_t nics, std::span<const Link> table);

}  // namespace ddpx
