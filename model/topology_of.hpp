// How the ranks of a log are joined, where nobody says.
#pragma once

#include "model/link.hpp"

namespace ddpx {

// What a log says: whether ranks were on several hosts, the largest bus bandwidth of its
// all-reduces, and the most ranks of which it does not say the hosts (0: of all it does).
struct LogRanks {
  bool several_hosts = false;
  BytesPerSecond bus_bandwidth{};
  int of_unknown_hosts = 0;
};

// Over hosts by a network; inside one by NVLink when their all-reduce is faster than over any PCIe
// link (PCIe 5 x16: 55 GB/s), and more ranks than one host joins by that are on several.
[[nodiscard]] inline Topology topology_of(const LogRanks& ranks) {
  constexpr BytesPerSecond kFasterThanPcie{60e9};
  if (ranks.several_hosts) return Topology::network;
  const Topology inside = ranks.bus_bandwidth > kFasterThanPcie ? Topology::nvlink : Topology::pcie;
  return ranks.of_unknown_hosts > carry_over(inside).most_ranks ? Topology::network : inside;
}

}  // namespace ddpx
