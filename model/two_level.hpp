// A cluster of equal nodes as one link: what joins the GPUs inside a node, and what joins the
// nodes.
//
// NCCL's model of rings and trees (nccl.hpp) with what was measured in its place: the bus bandwidth
// inside a node, the bandwidth of a node's NICs as the wire, and the latency of two ranks on either
// level. A ring crosses every node once, so its bus bandwidth is the smaller of the two; a tree of
// two or three nodes sends less and may count more than the wire's (tree_wire.hpp).
#pragma once

#include <optional>

#include "model/link.hpp"
#include "model/nccl.hpp"

namespace ddpx {

struct NodeLayout {
  int nodes = 2;
  int gpus_per_node = 8;

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  auto operator<=>(const NodeLayout&) const = default;
};

// One standard error of a large message from two-rank figures: what 90 % of the rows of public
// sweeps over two to eight nodes need, every cluster counting alike (docs/results/links.md, which
// judges each by the error of the others). A small message's is that of the latency between two
// ranks and of whether NCCL uses trees.
inline constexpr double kTwoLevelError = 0.60;

// NCCL's view of the cluster. `nics` of a node; nullopt: one per GPU where `between` has the
// figures of one GPU's share (Link::per_gpu), else one, or all that it was measured with.
[[nodiscard]] NcclTopology nccl_topology(const Link& inside, const Link& between,
                                         const NodeLayout& layout, std::optional<int> nics);

// The link with curves of all three collectives on `layout`.gpus() ranks, and its two levels (what
// HSDP uses one by one: the GPUs of a node share its wire evenly). Throws InputError for a
// layout of fewer than two nodes, and where a level has neither figures nor curves. Of nodes of one
// GPU it is `between` and nothing else, with its own error: kTwoLevelError is of nodes of several,
// whose ways inside and to the NICs it stands for.
[[nodiscard]] Link two_level(const Link& inside, const Link& between, const NodeLayout& layout,
                             std::optional<int> nics = std::nullopt, double error = kTwoLevelError);

}  // namespace ddpx
