// What FSDP wraps: the blocks of a network, each gathered and scattered as one, and the root, which
// is everything in no block (embedding, last normalisation, head).
//
// A generator says its blocks (Layer::block). A network from a file has the module paths of
// PyTorch: the blocks are the elements of its longest ModuleList or Sequential, as torch/ddpx_torch
// wraps them, so "h.3.attn.qkv" belongs to the element 3 of the list "h".
#pragma once

#include <cstddef>
#include <vector>

#include "model/network.hpp"

namespace ddpx {

// Layers [begin, end), one after another in forward order.
struct Block {
  std::size_t begin = 0;
  std::size_t end = 0;
  double parameters = 0;
  std::size_t tensors = 0;
};

struct Blocks {
  std::vector<Block> list;  // forward order; layers in none are the root's
  double root_parameters = 0;
  std::size_t root_tensors = 0;

  // Parameters of the largest block.
  [[nodiscard]] double largest() const;
};

// Throws InputError where the network has no block: per-block sharding has nothing to wrap.
[[nodiscard]] Blocks blocks_of(const Network& network);
// Whether it has any.
[[nodiscard]] bool has_blocks(const Network& network);

}  // namespace ddpx
