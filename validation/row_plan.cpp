#include "validation/row_plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

namespace ddpx {
namespace {

RunRow one_gpu_row(const RunRow& row) {
  RunRow alone;
  alone.network = row.network;
  alone.link = row.link;
  alone.job = row.job.one_gpu();
  alone.job.scaling = Scaling::weak;  // on one GPU the two are the same
  return alone;
}

bool same_run(const RunRow& a, const RunRow& b) {
  const bool same_link = a.link == b.link || a.job.gpus == 1;  // one rank has none
  return a.network == b.network && same_link && a.job.gpus == b.job.gpus &&
         a.job.batch_per_rank == b.job.batch_per_rank && a.job.dtype == b.job.dtype &&
         a.job.optimizer == b.job.optimizer && a.job.graphs == b.job.graphs &&
         describe(a.job.strategy) == describe(b.job.strategy);
}

// std::shuffle may draw differently in every standard library; the generator itself may not.
template <class T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

// Rows by the one-GPU row they are compared with.
std::vector<std::vector<std::size_t>> groups_of(std::span<const RunRow> rows) {
  std::vector<RunRow> yardsticks;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RunRow yardstick = one_gpu_row(rows[i]);
    const auto found = std::find_if(yardsticks.begin(), yardsticks.end(), [&](const RunRow& other) {
      return same_run(yardstick, other);
    });
    const auto group = static_cast<std::size_t>(found - yardsticks.begin());
    if (found == yardsticks.end()) {
      yardsticks.push_back(yardstick);
      groups.emplace_back();
    }
    groups[group].push_back(i);
  }
  return groups;
}

}  // namespace

std::vector<RunRow> rows_of(const RowGrid& grid) {
  std::vector<RunRow> rows;
  for (const std::string& network : grid.networks) {
    for (const double batch : grid.batches) {
      for (const int gpus : grid.gpus) {
        for (const Strategy& strategy : grid.strategies) {
          RunRow row;
          row.network = network;
          row.job.gpus = gpus;
          row.job.batch_per_rank = batch;
          row.job.engine = Engine::native;
          row.job.dtype = grid.dtype;
          row.job.optimizer = grid.optimizer;
          row.job.strategy = strategy;
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

std::vector<RunRow> with_one_gpu_rows(std::vector<RunRow> rows) {
  const std::size_t given = rows.size();
  for (std::size_t i = 0; i < given; ++i) {
    RunRow alone = one_gpu_row(rows[i]);
    const bool there = std::any_of(rows.begin(), rows.end(),
                                   [&](const RunRow& row) { return same_run(row, alone); });
    if (!there) rows.push_back(std::move(alone));
  }
  return rows;
}

std::vector<Visit> visits_of(std::span<const RunRow> rows, int processes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::size_t>> groups = groups_of(rows);
  std::vector<Visit> visits;
  for (int process = 0; process < processes; ++process) {
    shuffle(groups, random);
    for (std::vector<std::size_t>& group : groups) {
      shuffle(group, random);
      for (const std::size_t row : group) visits.push_back({{row}, process});
    }
  }
  return visits;
}

std::vector<Visit> shared_visits_of(std::span<const RunRow> rows, int processes,
                                    std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto key = [&](std::size_t i) {
    const RunRow& row = rows[i];
    // One rank has no link.
    return std::tuple(row.job.gpus, row.job.gpus > 1 ? row.link : "",
                      row.job.gpus > 1 ? row.job.strategy.channels.value_or(0) : 0);
  };
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Visit> visits;
  for (int process = 0; process < processes; ++process) {
    shuffle(order, random);
    std::map<std::tuple<int, std::string, int>, std::vector<std::size_t>> sets;
    for (const std::size_t row : order) sets[key(row)].push_back(row);
    std::vector<Visit> round;
    for (auto& [unused, set] : sets) round.push_back({std::move(set), process});
    shuffle(round, random);
    std::move(round.begin(), round.end(), std::back_inserter(visits));
  }
  return visits;
}

}  // namespace ddpx
