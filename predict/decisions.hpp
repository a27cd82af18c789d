// Answers that are no forecast of one step but a choice between several: strategies side by side
// (--rank-strategies), and what would have to change (--require).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ranking.hpp"
#include "model/requirement.hpp"

namespace ddpx {

// Memory of one GPU; size 0 and no words where it is not known.
struct GpuMemory {
  Bytes size{};
  std::string from;  // "--gpu-memory", "machine t4x2", ...

  [[nodiscard]] bool holds(Bytes needed) const { return !(size.value() > 0) || needed <= size; }
};

// What such an answer is about.
struct Situation {
  std::string network;
  double parameters = 0;
  std::optional<double> width;
  Job job;
  int nodes = 1;
  std::string link;
  std::string link_title;
};

struct RankingRow {
  Situation of;             // the job's strategy is not part of it
  Bytes memory{};           // of one GPU; 0 when unknown
  std::string memory_from;  // "--gpu-memory", "machine t4x2", ...; empty when unknown
  Ranking ranking;
};

// One thing that could be changed, all else as it is.
enum class Unknown { link_bandwidth, link_latency, batch_per_rank, accumulation, model_size, gpus };
[[nodiscard]] inline std::string_view name(Unknown unknown) {
  constexpr std::array<std::string_view, 6> kNames{
      "link_bandwidth", "link_latency", "batch_per_rank", "accumulation", "model_size", "gpus"};
  return kNames.at(static_cast<std::size_t>(unknown));
}

struct UnknownRow {
  Unknown unknown = Unknown::link_bandwidth;
  std::string what;                  // in words: "link bandwidth", "width", "nodes of 8"
  double now = 0;                    // bytes per second, seconds, samples, ...
  Solution solution;                 // its value is in the unit of `now`
  std::optional<double> parameters;  // of the model at the solution
  std::string flags;                 // that give this model, where its size alone does not
  double flags_reached = 0;          // the metric with them
  bool fits = true;  // the solution's job in the GPU's memory, as far as that is known
};

struct RequirementRow {
  Situation of;
  Requirement requirement;
  double now = 0;  // the metric as things are
  std::vector<UnknownRow> unknowns;
  std::vector<std::string> left_out;  // what could not be varied and why
  std::vector<std::string> warnings;  // answers that do not fit in the GPU's memory
  std::optional<UsefulGpus> useful;   // nullopt: counts were not varied (left_out says why)
  int gpus_step = 1;      // counts were looked at in steps of so many (the GPUs of a node)
  std::string gpus_note;  // why no further count was looked at
  // The model size at which the speedup is 1, in parameters.
  std::optional<UnknownRow> crossing;

  // Whether it is met as things are, or any unknown alone can meet it.
  [[nodiscard]] bool can_be_met() const {
    return requirement.met_by(now) ||
           std::any_of(unknowns.begin(), unknowns.end(), [](const UnknownRow& row) {
             return row.solution.outcome != Outcome::never;
           });
  }
};

}  // namespace ddpx
