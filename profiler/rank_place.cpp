#include "profiler/rank_place.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "profiler/job_names.hpp"

namespace ddpx {
namespace {

std::optional<int> number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0) return std::nullopt;
  return value;
}

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::string() : std::string(text);
}

// The variables of one launcher. `job` names one run; empty where the launcher's process does.
struct Names {
  const char* rank;
  const char* ranks;
  const char* rank_on_host;
  const char* ranks_on_host;
  const char* job;
};

constexpr Names kOwn{kRankVariable, kRanksVariable, kRankVariable, kRanksVariable, ""};
constexpr Names kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
                         "PMIX_NAMESPACE"};
// sbatch sets SLURM_PROCID too, for a script that is no rank; only srun counts the step's tasks.
constexpr Names kSlurm{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
                       "SLURM_STEP_TASKS_ON_THIS_NODE", "SLURM_JOB_ID"};
constexpr Names kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                          "TORCHELASTIC_RUN_ID"};

std::optional<RankPlace> place_by(const Names& names) {
  const auto rank = number(names.rank);
  const auto ranks = number(names.ranks);
  if (!rank || !ranks || *ranks < 1 || *rank >= *ranks) return std::nullopt;
  RankPlace place;
  place.rank = *rank;
  place.ranks = *ranks;
  place.rank_on_host = number(names.rank_on_host).value_or(*rank);
  place.ranks_on_host = number(names.ranks_on_host).value_or(*ranks);
  place.job = text_of(names.job);
  return place;
}

std::optional<RankPlace> place_by_any() {
  if (!text_of(kJobVariable).empty()) {
    if (auto place = place_by(kOwn)) return place;
  }
  if (auto place = place_by(kOpenMpi)) return place;
  if (auto place = place_by(kSlurm)) {
    place->job += "." + text_of("SLURM_STEP_ID");
    return place;
  }
  // Shells and notebooks keep RANK for themselves now and then; a launcher says where to meet.
  if (text_of("LOCAL_RANK").empty() || text_of("MASTER_ADDR").empty()) return std::nullopt;
  auto place = place_by(kTorchrun);
  // torchrun calls every run "none" that was given no id: where its ranks meet tells runs apart.
  if (place) place->job += "." + text_of("MASTER_ADDR") + "." + text_of("MASTER_PORT");
  return place;
}

}  // namespace

std::optional<RankPlace> rank_place() {
  auto place = place_by_any();
  if (!place) return std::nullopt;
  place->directory = text_of(kJobVariable);
  place->launcher = place->directory.empty() ? ::getppid() : number(kLauncherVariable).value_or(0);
  if (place->job.empty()) place->job = std::to_string(place->launcher);
  return place;
}

}  // namespace ddpx
