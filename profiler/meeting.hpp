// How ranks that no MPI joins find each other and agree: a star of TCP connections to rank 0. It
// carries a few bytes between measurements (a communicator's id, the slowest rank's times), never
// gradients; a round takes some 50 us on one host.
//
// On one host rank 0 picks a free port on loopback and leaves it in a file of the job. Across hosts
// it listens on port DDPX_MEETING_PORT, by default MASTER_PORT + 29 (the port itself is the
// launcher's), and the others look for it at MASTER_ADDR.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/units.hpp"
#include "profiler/rank_place.hpp"

namespace ddpx {

class Meeting {
 public:
  // Returns when all ranks have come. Throws DeviceError when they do not within `patience`, or
  // when nothing says where to meet. Collective.
  explicit Meeting(const RankPlace& place, Seconds patience = Seconds(60));
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  // Collective, each of them; DeviceError when a rank has left.
  void barrier();
  // Element by element the largest over ranks.
  void maximum(std::span<double> values);
  // Rank 0's bytes, in place.
  void broadcast(std::span<std::byte> bytes);

 private:
  void accept_all(int listener, std::uint64_t token, Seconds patience);
  using Clock = std::chrono::steady_clock;
  enum class Answer { none, turned_away, welcome };
  Answer join(const std::string& host, int port, std::uint64_t token, Clock::time_point end);

  int rank_;
  int ranks_;
  std::vector<int> peers_;  // rank 0: one socket per other rank, by rank; others: rank 0's
};

}  // namespace ddpx
