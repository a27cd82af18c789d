// The communication stream of a CPU rank: collectives run one after the other, in the order they
// were started, beside whatever this core computes. A CPU has no engine that moves data by itself,
// so somebody has to call MPI now and then, and who and how often decides what a step costs
// (measured: docs/cpu-engine.md):
//  - while the rank computes, a second thread on the same core wakes every kPace, goes on with the
//  collective for the microseconds
//    that takes, and sleeps again. A thread that waits inside MPI instead takes half of the core.
//    One that yields there (mpi_yield_when_idle) is run again only when the scheduler thinks fit,
//    and leaves a fast link idle for milliseconds; the switch would do the same to this thread's
//    questions to MPI, so it stays as MPI sets it (off unless ranks outnumber cores);
//  - while the rank waits for a collective, the waiting thread itself drives it, giving the core
//  away between two attempts (there may
//    be more ranks than cores).
// The calibration measures collectives through this same class, so that it times what the engine
// runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "profiler/cpu/communicator.hpp"
#include "profiler/cpu/ring.hpp"
#include "profiler/pulse.hpp"

namespace ddpx::cpu {

class CollectiveQueue {
 public:
  using Clock = std::chrono::steady_clock;
  // Counts collectives from 1; 0 is done from the beginning.
  using Ticket = std::size_t;

  static constexpr std::chrono::microseconds kPace{500};
  static constexpr std::size_t kRemembered = 4096;

  // Takes a communicator of its own. Collective. `pulse`, which must outlive it, ticks whenever
  // something has moved, on either thread. A `pace` of zero leaves the queue alone until somebody
  // waits.
  CollectiveQueue(const Communicator& ranks, Pulse& pulse, std::chrono::microseconds pace = kPace);
  CollectiveQueue(const CollectiveQueue&) = delete;
  CollectiveQueue& operator=(const CollectiveQueue&) = delete;
  // Waits for the messages under way; collectives that have not begun are given up.
  ~CollectiveQueue();

  // The buffers must live, and be left alone, until the collective is done.
  Ticket start(const CollectiveBuffers& buffers);
  void wait(Ticket ticket);
  void wait_all();
  [[nodiscard]] bool done(Ticket ticket);
  // When a finished collective ended in this rank: one of the last kRemembered.
  [[nodiscard]] Clock::time_point end_of(Ticket ticket);

 private:
  void keep_going();       // the second thread
  bool advance();          // with mutex_ held; true when a collective ended
  void rethrow_failure();  // with mutex_ held

  Communicator communicator_;
  Pulse& pulse_;
  std::chrono::microseconds pace_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<CollectiveBuffers> pending_;  // the first one is running
  std::optional<Ring> running_;
  std::vector<std::byte> scratch_;
  std::deque<Clock::time_point> ends_;  // of the last ones
  Ticket ended_ = 0;
  std::exception_ptr failure_;
  Ticket started_ = 0;
  bool stopping_ = false;
  std::thread pacer_;
};

}  // namespace ddpx::cpu
