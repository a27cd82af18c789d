// Nodes of GPUs as links of two levels: what a figure over several hosts is held against, and what
// else may give it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/two_level.hpp"

namespace ddpx {

struct Levels {
  Link inside;
  Link between;
  NodeLayout layout;
  std::optional<int> nics;  // of a node; nullopt: as `between` has it
};

// Other nodes of the same shape, each with one thing changed: what joins them, what is inside, or
// fewer NICs of a node (a power of two). Links of `table` that do not join as many GPUs, or that
// the level cannot have become (fall_backs.hpp), are left out.
[[nodiscard]] std::vector<Link> alternatives(const Levels& levels, std::span<const Link> table);

// Nodes of every link of `table` inside and every network between them; of one GPU each, every
// network.
[[nodiscard]] std::vector<Link> every_cluster(const NodeLayout& layout,
                                              std::span<const Link> table);

}  // namespace ddpx
