// NCCL between the ranks of a job.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cuda/check.hpp"
#include "profiler/cuda/kernels.hpp"
#include "profiler/meeting.hpp"

namespace ddpx::cuda {

class Communicator {
 public:
  // The GPU must be this rank's current one. Collective.
  explicit Communicator(Meeting& meeting);

  [[nodiscard]] int ranks() const { return ranks_; }

  // A sum over ranks, issued to `stream`. All-reduce: `from` and `to` of the same count.
  // All-gather's `from` and reduce-scatter's `to` are this rank's shard. Nothing to do for one rank
  // but to copy.
  void issue(Collective kind, Elements from, Elements to, cudaStream_t stream);
  // Sends `from` to rank `peer` and takes as much from it into `to`, at the same time.
  void exchange(int peer, Elements from, Elements to, cudaStream_t stream);
  // Ends what waits for peers that do not answer. Of no use afterwards.
  void abort() { nccl_.reset(); }
  // Throws DeviceError when NCCL has noticed that a peer is gone.
  void check_peers() const;

  // NCCL's version.
  [[nodiscard]] static std::vector<std::pair<std::string, std::string>> context();

 private:
  struct Abort {
    // ncclCommDestroy would wait for peers that may be gone.
    void operator()(ncclComm_t comm) const { static_cast<void>(ncclCommAbort(comm)); }
  };

  int ranks_;
  std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Abort> nccl_;
};

}  // namespace ddpx::cuda
