// Memory one GPU needs to train at all: a forecast for a model that does not fit is no answer.
//
// Model state by the ZeRO paper (Rajbhandari et al. 2020, table 1): p, g and o bytes per parameter
// of parameters, gradients and optimizer state, of which a strategy shards o (stage 1), g as well
// (stage 2) or all three (stage 3, FSDP) over N ranks:
//
//   replicated (p + g + o) P   stage 1 (p + g + o/N) P   stage 2 (p + (g + o)/N) P   stage 3 all/N
//
// The paper's mixed precision keeps 2 + 2 + 12: 16-bit parameters and gradients beside an fp32 copy
// and two moments. PyTorch's autocast and plain fp32, which a forecast prices, keep 4 + 4 + 8
// (AdamW) or 4 + 4 + 0 (SGD): the same 16 bytes with AdamW, split otherwise, so that stages 1 and 2
// save less.
#pragma once

#include "model/strategy.hpp"

namespace ddpx {

// Bytes per parameter.
struct StateBytes {
  double parameter = 4;
  double gradient = 4;
  double optimizer = 0;
};
inline constexpr StateBytes kPaperMixedPrecision{2, 2, 12};
[[nodiscard]] StateBytes state_bytes(Optimizer optimizer);

// The formulas above, `shards` ranks wide; fsdp_unit and fsdp_block are stage 3.
[[nodiscard]] Bytes model_state(const StateBytes& bytes, double parameters, Sharding sharding,
                                int shards);

struct MemoryParts {
  Bytes state{};        // parameters, gradients, optimizer
  Bytes buckets{};      // a further copy of gradients, unless they are views of the buckets
  Bytes gathered{};     // parameters and gradients that exist whole for a while
  Bytes activations{};  // kept for backward
  [[nodiscard]] Bytes total() const { return state + buckets + gathered + activations; }
};

// A lower bound: no workspaces, no fragmentation. Per-block sharding holds the root, the block that
// computes, the one gathered ahead and the gradients of one block; without resharding every block.
// Throws InputError where a network has no blocks and the strategy needs them.
[[nodiscard]] MemoryParts memory_parts(const Network& network, const Job& job);
[[nodiscard]] Bytes memory_needed(const Network& network, const Job& job);

}  // namespace ddpx
