// One rank's part in a job: it shows how it is doing, publishes what is finished, and ends when
// nobody waits for it any more.
//
// A program becomes a rank by being started by a RankJob (launch.hpp), or by the user's own
// launcher (rank_place.hpp). In the second case nobody watches from outside, so the ranks of a host
// watch each other: the first healthy one says which rank is in trouble and ends, which makes the
// launcher end the job.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "profiler/pulse.hpp"
#include "profiler/rank_board.hpp"
#include "profiler/rank_place.hpp"

namespace ddpx {

class Rank : public Pulse {
 public:
  // Before MPI starts. `program` opens messages.
  Rank(RankPlace place, std::string program);
  ~Rank() override;

  [[nodiscard]] bool is_first() const { return place_.rank == 0; }
  [[nodiscard]] int ranks() const { return place_.ranks; }
  // Whether a RankJob waits for the results; else the first rank is to write them itself.
  [[nodiscard]] bool has_launcher() const { return !place_.directory.empty(); }

  void begin(const JobProgress& progress);
  void tick() override;
  void waiting(bool for_peers) override;
  // What is finished so far, as a whole; replaces what was published before. The first rank's.
  void publish(std::string_view text);
  void finish();
  // Leaves as failed or refused.
  void fail(std::string_view problem, RankState state);

 private:
  void keep_beating();
  void watch_the_others(Seconds since_start);

  RankPlace place_;
  std::string program_;
  std::string results_;
  std::string board_path_;
  RankBoard board_;
  std::atomic<bool> stopping_{false};
  std::thread heart_;
};

}  // namespace ddpx
