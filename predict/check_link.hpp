// Is this right for my box? What was measured, what such a link usually gives at that count, which
// limit explains the figure, and what is likely wrong when it is below.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/link.hpp"

namespace ddpx {

enum class Standing { within, below, above };

// Usual bus bandwidth of an all-reduce over `link`, with the range seen on public machines, carried
// to the count and the size. It ends where the links' rates do: at what the hosts' wires can count
// (tree_wire.hpp) and what the links inside a host carry; of figures, at the figure.
struct Band {
  BytesPerSecond low{};
  BytesPerSecond usual{};
  BytesPerSecond high{};

  [[nodiscard]] Standing standing(BytesPerSecond measured) const;
};
[[nodiscard]] Band band_of(const Link& link, int ranks, Bytes bytes = Bytes(1 << 30));

// What a file says of a box.
struct MeasuredLink {
  std::string what;  // "all_reduce on 8 ranks" or "copies between GPUs"
  int ranks = 2;
  BytesPerSecond bus_bandwidth{};
  bool falls = false;  // bandwidth falls with the size
  // Of the message that reached it; bandwidth of a smaller one is no fault of the link.
  Bytes bytes{1 << 30};
  bool copies = false;  // one pair's copies, not a collective: compared with the link's peak
  // Of the time of the message that reached it, what a line through it and the smallest leaves for
  // no bytes.
  double latency_share = 0;
  int hosts = 0;                           // that the ranks were on; 0: the log does not say
  int ranks_per_host = 0;                  // 0: nor does it this
  std::vector<int> or_each{};              // of which it may have had as many, by the log
  std::string placed_by{};                 // which of the assumptions `hosts` rests on
  std::string unplaced{};                  // why `hosts` is 0 though the log lists ranks
  std::vector<std::string> assumptions{};  // how what the log leaves open was taken
  std::vector<std::string> notes{};  // rows that were left out, and what is odd about the rest
  // The largest message and its bandwidth, which that of `bytes` may say nothing of.
  Bytes largest{};
  BytesPerSecond at_largest{};
  std::string dead{};       // pairs of GPUs whose copies moved nothing; empty: none
  bool incomplete = false;  // not all pairs are there, and a slower one may be missing
  std::string corrupts{};   // what the log says of wrong results; empty: nothing
};

// A link and what it usually gives.
struct LinkBand {
  std::string name;
  Band band;
  std::string limit;
};

// What a topology matrix says: the slowest path between two GPUs, and what the links of its kind
// give.
struct Paths {
  std::size_t gpus = 0;
  std::size_t nics = 0;
  std::string slowest;  // "SYS", "NV18"; empty for one GPU
};

// The answer, in words and in values.
struct LinkCheck {
  std::string text;
  Standing standing = Standing::within;
  std::optional<MeasuredLink> measured;  // nullopt: a topology matrix
  std::optional<LinkBand> expected;      // nullopt: no link was named
  bool in_switch = false;                // it lies in the band of all-reduce by the switch (NVLS)
  std::optional<LinkBand> looks_like;    // below the band: the likeliest that gives that much
  std::vector<LinkBand> also_like{};     // and the others (fall_backs.hpp)
  std::vector<std::string> faults;       // most likely first
  std::vector<LinkBand> candidates;      // no link was named: those in whose band it lies
  std::optional<Paths> paths;
  std::vector<std::string> warnings{};  // of what was asked
};

// Band of an all-reduce that the switch adds up (NVLS): 8 H100 or H200 of one node; nullopt
// elsewhere. NCCL's model of it gives 476 GB/s, 480 were measured.
[[nodiscard]] std::optional<Band> in_switch_band(const Link& link, int ranks,
                                                 Bytes bytes = Bytes(1 << 30));

// Against one link that it should be; `table` is what the figure may look like instead: links of
// one level, or nodes of the expected one's shape (alternatives()).
[[nodiscard]] LinkCheck check_link(const MeasuredLink& measured, const Link& expected,
                                   std::span<const Link> table);
// Where the link is not named: the links (or nodes, every_cluster()) in whose band the figure lies.
[[nodiscard]] LinkCheck check_link(const MeasuredLink& measured, std::span<const Link> table);

// What the paths of a topology matrix say, before anything is measured: the slowest path between
// GPUs, its meaning, and the band of the links it may be.
[[nodiscard]] LinkCheck expected_of_paths(const std::vector<std::vector<std::string>>& paths,
                                          std::size_t nics, std::span<const Link> table);

}  // namespace ddpx
