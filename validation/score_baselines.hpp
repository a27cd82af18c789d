// The simple forecasts (model/baselines.hpp) scored on the rows the model is scored on. B0..B4 get
// the machine's constants; B5 and B6 get measured speedups of other rows, never of the row they are
// scored on.
#pragma once

#include <span>
#include <vector>

#include "validation/compare.hpp"

namespace ddpx {

// B0..B4: a step of the row's job.
void score_formulas(const Machine& machine, const Link& link, const Network& network,
                    ComparedRow& row);

// B5: Amdahl's law through measured speedups of the same strategy and GPU count on other widths (no
// row of the same network, whatever its link) and other links; where the files have no other link,
// of other widths alone. B6: the universal scalability law through the same series (network, link,
// strategy, batch, dtype, optimizer, scaling, engine) at its other GPU counts; needs two of them,
// so that the series has three. Both forecast a speedup; the step follows from the measured one-GPU
// step, which they are given.
void score_fits(std::span<ComparedRow> rows);

// One entry per baseline that could be scored on a row.
[[nodiscard]] std::vector<BaselineSummary> summarise_baselines(std::span<const ComparedRow> rows);

}  // namespace ddpx
