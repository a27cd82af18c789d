// Memory one GPU needs to train at all: a forecast for a model that does not fit is no answer.
#pragma once

#include "model/strategy.hpp"

namespace ddpx {

// Parameters, gradients and optimizer state in fp32 (AdamW keeps two moments), DDP's buckets (a
// further copy of the gradients unless they are views of the buckets), and the activations kept for
// backward. One-unit FSDP shards state and gradients, but gathers all parameters at once. A lower
// bound: no workspaces, no fragmentation.
[[nodiscard]] Bytes memory_needed(const Network& network, const Job& job);

}  // namespace ddpx
