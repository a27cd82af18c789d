// What the environment says about this process as one rank of several.
#pragma once

#include <optional>
#include <string>

namespace ddpx {

struct RankPlace {
  int rank = 0;  // among all
  int ranks = 1;
  int rank_on_host = 0;
  int ranks_on_host = 1;
  std::string directory;  // of the job that started it; empty under the user's own launcher
  int launcher = 0;       // process that must stay alive
  std::string job;        // a name that the job's ranks share and no other job has
};

// Started by a RankJob, or by mpirun (OMPI_COMM_WORLD_*), srun (SLURM_PROCID within a step) or
// torchrun (RANK, WORLD_SIZE, LOCAL_RANK). nullopt: started as a program, by hand.
[[nodiscard]] std::optional<RankPlace> rank_place();

}  // namespace ddpx
