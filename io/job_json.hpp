// What a row ran, in the same members wherever a row stands: runs, forecast, validation.
#pragma once

#include <string_view>

#include "io/json_reader.hpp"
#include "model/strategy.hpp"

namespace ddpx::io {

[[nodiscard]] Scaling scaling_of(const Reader& from);

// In the words of --strategy; refused in the words of the file.
[[nodiscard]] Strategy strategy_of(const Reader& from);

// The members gpus, link, strategy, scaling, dtype, optimizer, batch_per_rank and, where the step
// is a CUDA graph, graphs. The engine is the caller's: in runs it is where the row comes from, and
// so is the batch, which runs have as it was given and results by rank.
void append_job(JsonObject& members, const Job& job, std::string_view link, double batch_per_rank);

}  // namespace ddpx::io
