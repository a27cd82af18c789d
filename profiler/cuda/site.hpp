// Everything a rank holds on its host: its place in the job, the meeting with the others, its GPU
// and NCCL. Backend and engine device stand on it alike.
#pragma once

#include <string>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/cuda/communicator.hpp"
#include "profiler/cuda/gpu.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cuda {

class Site {
 public:
  // Joins the other ranks of the job this process belongs to, after a look at what would disturb
  // or fail. `pulse` must outlive the site. Throws DeviceError. Collective.
  explicit Site(Pulse& pulse);

  [[nodiscard]] Gpu& gpu() { return gpu_; }
  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] const Hardware& hardware() const { return hardware_; }
  [[nodiscard]] int rank() const { return meeting_.rank(); }
  [[nodiscard]] int ranks() const { return meeting_.ranks(); }

  void note(std::string text) { hardware_.notes.push_back(std::move(text)); }

  // Among the hosts of all ranks. Collective.
  void barrier();
  void maximum(std::span<double> values);
  void broadcast(std::span<std::byte> bytes);  // rank 0's
  // `values` of every rank, one rank after the other.
  [[nodiscard]] std::vector<double> gathered(std::span<const double> values);
  // Returns when both streams have run dry. Throws DeviceError when NCCL notices that a peer is
  // gone.
  void finish();
  // The same for at most `patience`; false: something still runs.
  [[nodiscard]] bool finish_within(Seconds patience);

 private:
  Pulse& pulse_;
  RankPlace place_;
  Meeting meeting_;
  std::vector<std::string> notes_;
  Gpu gpu_;
  Communicator communicator_;
  Hardware hardware_;
};

}  // namespace ddpx::cuda
