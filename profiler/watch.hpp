// Which rank of a job is in trouble, judged from what the ranks show (rank_board.hpp). A pure rule,
// tested on made-up jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/units.hpp"

namespace ddpx {

// How a rank left, in its own words (refused: what the user asked for cannot be done; link_hung: no
// data arrives over the link, another may do); one that is killed leaves no word and stays
// `running`.
enum class RankState : std::int32_t {
  absent,
  running,
  finished,
  failed,
  refused,
  exited,
  terminated,
  link_hung
};

struct RankStatus {
  int rank = 0;
  RankState state = RankState::absent;
  bool alive = false;    // its process exists
  bool waiting = false;  // in a call that needs its peers
  Seconds since_beat{};  // a thread of its own beats several times a second
  Seconds since_tick{};  // since some work was done
  std::int64_t ticks = 0;
  Seconds left_at{};  // on one clock for all ranks
  std::string operation;
  std::string problem;
};

struct JobProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  Seconds left{};
  std::string operation;
};

struct WatchLimits {
  Seconds come{8};     // for all processes to report
  Seconds start{20};   // for their first tick: a GPU's driver and libraries take that long at worst
  Seconds silence{4};  // without a beat: stopped
  Seconds hang{8};     // without a tick: stuck. No single piece of work may take that long; what
                       // goes over a link ticks with every piece of it that arrives
};

struct RankFailure {
  int rank = 0;
  std::string operation;
  std::string what;
  std::optional<std::string> refusal;  // the user's to mend: the message alone
  bool link_hung = false;
};

// "rank 1 was killed in fp32 all_reduce of 4096 B".
[[nodiscard]] std::string sentence(const RankFailure& failure);

// The rank to name, if any. A rank that vanished without a word comes first: its peers end because
// of it, and say so.
[[nodiscard]] std::optional<RankFailure> diagnose(std::span<const RankStatus> ranks,
                                                  Seconds since_start, const WatchLimits& limits);

}  // namespace ddpx
