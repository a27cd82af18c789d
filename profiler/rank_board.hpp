// Where the ranks of one job on one host show how they are doing: a small file that all of them and
// whoever watches map into memory. It needs no message to be read, so it also tells of ranks that
// are dead, stopped or stuck.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/watch.hpp"

namespace ddpx {

class RankBoard {
 public:
  // Makes the file, or opens it where it is there already; all name the same number of ranks.
  // Throws DeviceError.
  RankBoard(const std::string& path, int ranks);

  // What the board says, with how the processes are now.
  [[nodiscard]] std::vector<RankStatus> look() const;
  // Process ids of the ranks that have come.
  [[nodiscard]] std::vector<int> processes() const;

  // Empties the places of processes that are gone: they are those of an earlier job of that name.
  void clear_ended();

  // A rank's own place.
  void arrive(int place, int rank);
  void beat(int place);
  void tick(int place);
  void waiting(int place, bool for_peers);
  void begin(int place, std::string_view operation);
  void problem(int place, std::string_view text);
  // Leaves once; later calls change nothing. Safe in a signal handler.
  void leave(int place, RankState state) noexcept;

  // Of the job as a whole, by its first rank.
  void progress(std::size_t done, std::size_t total, double seconds_left);
  [[nodiscard]] JobProgress progress() const;

 private:
  struct Slot;
  struct Page;
  [[nodiscard]] Slot& slot(int place) const;

  int ranks_;
  std::shared_ptr<Page> page_;  // unmaps itself
};

}  // namespace ddpx
