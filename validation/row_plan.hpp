// Which rows --run measures and in which order: pure values, no processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "validation/run.hpp"

namespace ddpx {

// Every combination; each row names its network by its words.
struct RowGrid {
  std::vector<std::string> networks;
  std::vector<double> batches;
  std::vector<Strategy> strategies;
  std::vector<int> gpus;
  DType dtype = DType::fp32;
  Optimizer optimizer = Optimizer::sgd;
};
[[nodiscard]] std::vector<RunRow> rows_of(const RowGrid& grid);

// Adds the one-GPU row that each row speeds up, once each, where it is not there already: it has
// no link, so that one serves the rows of all.
[[nodiscard]] std::vector<RunRow> with_one_gpu_rows(std::vector<RunRow> rows);

// One fresh process set, and the rows it trains one after another.
struct Visit {
  std::vector<std::size_t> rows;
  int process = 0;
};

// `processes` rounds over all rows. In every round a one-GPU row and the rows it is the yardstick
// of come together, so that a machine that drifts moves both; the groups, and the rows inside each,
// come in an order drawn from the seed (the same on every machine).
[[nodiscard]] std::vector<Visit> visits_of(std::span<const RunRow> rows, int processes,
                                           std::uint64_t seed);

// The same with one process set for all rows of a round that the same ranks can run: of equal
// number, link and channels. For ranks that take seconds to start; the rows inside each, and the
// sets, come in an order drawn from the seed.
[[nodiscard]] std::vector<Visit> shared_visits_of(std::span<const RunRow> rows, int processes,
                                                  std::uint64_t seed);

}  // namespace ddpx
