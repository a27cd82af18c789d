// What measured runs stand behind a strategy's forecast.
//
// The shipped runs (validation/runs) train with one option beside DDP at a time: a bucket size, a
// bucket view, accumulation over 2 to 8 micro-batches, the fp16 hook, a channel count, one-unit
// FSDP and FSDP by block. Everything else follows from the same model and has never been held
// against a step.
#pragma once

#include "model/strategy.hpp"

namespace ddpx {

// Whether runs of this kind are among the shipped ones.
[[nodiscard]] bool is_validated(const Strategy& strategy);

inline constexpr int kMostAccumulationRun = 8;

// One standard error, in logarithms, of the gain of a kind of strategy that no run has validated:
// that of the worst forecast kind that runs did validate, whose gain was forecast without a
// constant of its own just as well (accumulation, root mean square over 44 rows of three machines;
// docs/results/decisions.md makes the table).
inline constexpr double kUnvalidatedError = 0.09;

}  // namespace ddpx
