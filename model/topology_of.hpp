// How the ranks of a log are joined, where nobody says.
#pragma once

#include "model/link.hpp"

namespace ddpx {

// Over hosts by a network; inside one by NVLink when their all-reduce is faster than over any PCIe
// link (PCIe 5 x16: 55 GB/s).
[[nodiscard]] constexpr Topology topology_of(bool several_hosts, BytesPerSecond bus_bandwidth) {
  constexpr BytesPerSecond kFasterThanPcie{60e9};
  if (several_hosts) return Topology::network;
  return bus_bandwidth > kFasterThanPcie ? Topology::nvlink : Topology::pcie;
}

}  // namespace ddpx
