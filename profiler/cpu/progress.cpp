#include "profiler/cpu/progress.hpp"

namespace ddpx::cpu {

CollectiveQueue::CollectiveQueue(const Communicator& ranks, Pulse& pulse,
                                 std::chrono::microseconds pace)
    : communicator_(ranks.duplicate()), pulse_(pulse), pace_(pace) {
  if (pace_.count() > 0 && communicator_.size() > 1) pacer_ = std::thread([this] { keep_going(); });
}

CollectiveQueue::~CollectiveQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (pacer_.joinable()) pacer_.join();
}

CollectiveQueue::Ticket CollectiveQueue::start(const CollectiveBuffers& buffers) {
  const std::lock_guard lock(mutex_);
  rethrow_failure();
  pending_.push_back(buffers);
  advance();  // the first message leaves now, not when the second thread wakes
  if (!pending_.empty()) work_.notify_one();
  return ++started_;
}

void CollectiveQueue::wait(Ticket ticket) {
  // Held to the end: the second thread only tries for it, and finds that somebody else drives.
  const std::lock_guard lock(mutex_);
  while (ended_ < ticket) {
    rethrow_failure();
    if (!advance()) std::this_thread::yield();
  }
}

void CollectiveQueue::wait_all() { wait(started_); }

bool CollectiveQueue::done(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  rethrow_failure();
  return ended_ >= ticket;
}

CollectiveQueue::Clock::time_point CollectiveQueue::end_of(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  return ends_.at(ends_.size() - 1 - (ended_ - ticket));
}

bool CollectiveQueue::advance() {
  if (pending_.empty()) return false;
  if (!running_) running_.emplace(communicator_, pending_.front(), scratch_);
  const std::size_t moved = running_->moved();
  const bool done = running_->advance();
  if (running_->moved() != moved) pulse_.tick();
  if (!done) return false;
  running_.reset();
  pending_.pop_front();
  ends_.push_back(Clock::now());
  if (ends_.size() > kRemembered) ends_.pop_front();
  ++ended_;
  if (!pending_.empty()) advance();
  return true;
}

void CollectiveQueue::rethrow_failure() {
  if (failure_) std::rethrow_exception(failure_);
}

void CollectiveQueue::keep_going() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    work_.wait(lock, [this] { return stopping_ || (!pending_.empty() && !failure_); });
    lock.unlock();
    std::this_thread::sleep_for(pace_);
    // Whoever holds it is waiting for the collective and drives it.
    while (!lock.try_lock()) std::this_thread::sleep_for(pace_);
    try {
      advance();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
}

}  // namespace ddpx::cpu
