// What a link that gives too little may have become. A path is lost, never won: NVLink that is
// inactive leaves PCIe, PCIe without peer-to-peer access host memory, and NCCL goes over sockets
// where it finds no InfiniBand, RoCE or EFA that it can use (NCCL_DEBUG=INFO: NET/Socket). A box
// does not turn into another vendor's network or win a link that it has not.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "predict/check_link.hpp"

namespace ddpx {

// What joins the nodes, of a link of two levels; else the link.
[[nodiscard]] const Link& between_of(const Link& link);

// "tcp", "infiniband", "roce" or "efa", by the name of a network of the table; empty for any other
// link.
[[nodiscard]] std::string_view network_family(const Link& link);

// Whether what should be `named` may be `other`; of nodes, level by level. Of a link that is known
// by figures or whose log does not say of what kind it is, anything may be.
[[nodiscard]] bool may_become(const Link& named, const Link& other);

// The links of `table` that `expected` may have become and in whose band the figure lies: TCP
// between nodes that have another network first, then the nearest usual figure.
[[nodiscard]] std::vector<const Link*> fall_backs(const MeasuredLink& measured,
                                                  const Link& expected,
                                                  std::span<const Link> table);

}  // namespace ddpx
