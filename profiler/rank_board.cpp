#include "profiler/rank_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kOperation = 256;
constexpr std::size_t kProblem = 512;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Seconds seconds(std::int64_t nanoseconds) {
  return Seconds(1e-9 * static_cast<double>(nanoseconds));
}

// A process that has ended stays visible until its parent has taken note; /proc shows it as Z or X.
bool is_alive(int pid) {
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "r"), &std::fclose);
  std::array<char, 512> text{};
  if (!file || std::fread(text.data(), 1, text.size() - 1, file.get()) == 0) return false;
  const char* name_end = std::strrchr(text.data(), ')');
  return name_end == nullptr || (name_end[1] != '\0' && name_end[2] != 'Z' && name_end[2] != 'X');
}

// Written by one process and read by others at any time: a reader may see half of a change, never
// beyond the end.
template <std::size_t N>
void put(std::array<char, N>& text, std::string_view value) {
  const std::size_t length = std::min(value.size(), N - 1);
  std::copy_n(value.begin(), length, text.begin());
  text[length] = '\0';
}

template <std::size_t N>
std::string get(const std::array<char, N>& text) {
  return {text.begin(), std::find(text.begin(), text.end() - 1, '\0')};
}

}  // namespace

static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<std::int32_t>::is_always_lock_free &&
              std::atomic<double>::is_always_lock_free);

struct RankBoard::Slot {
  std::atomic<std::int32_t> pid;
  std::atomic<std::int32_t> rank;
  std::atomic<std::int32_t> state;
  std::atomic<std::int32_t> waiting;
  std::atomic<std::int64_t> beat;
  std::atomic<std::int64_t> tick;
  std::atomic<std::int64_t> ticks;
  std::atomic<std::int64_t> left;
  std::array<char, kOperation> operation;
  std::array<char, kProblem> problem;
};

// A fresh file is all zeros: every rank absent.
struct RankBoard::Page {
  std::atomic<std::int64_t> done;
  std::atomic<std::int64_t> total;
  std::atomic<double> seconds_left;
  std::array<Slot, 1> slots;  // as many as there are ranks
};

RankBoard::RankBoard(const std::string& path, int ranks) : ranks_(ranks) {
  const std::size_t bytes = sizeof(Page) + static_cast<std::size_t>(ranks) * sizeof(Slot);
  const auto fail = [&](const char* doing) {
    const std::string reason = std::generic_category().message(errno);
    throw DeviceError(std::string(doing) + " " + path + ": " + reason);
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) fail("opening");
  // With its blocks: on a full disk a page that has none ends whoever touches it (SIGBUS).
  errno = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  const bool sized = errno == 0;
  void* memory =
      sized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED) fail("mapping");
  page_ = {static_cast<Page*>(memory), [bytes](Page* page) { ::munmap(page, bytes); }};
}

RankBoard::Slot& RankBoard::slot(int place) const { return page_->slots.data()[place]; }

std::vector<RankStatus> RankBoard::look() const {
  std::vector<RankStatus> ranks;
  const std::int64_t time = now();
  for (int place = 0; place < ranks_; ++place) {
    const Slot& s = slot(place);
    RankStatus status;
    // Alive before state: a rank that leaves in between is then seen as one that left, not as one
    // that vanished.
    status.alive = is_alive(s.pid);
    status.state = s.pid == 0 ? RankState::absent : static_cast<RankState>(s.state.load());
    status.rank = status.state == RankState::absent ? place : s.rank.load();
    status.waiting = s.waiting != 0;
    status.since_beat = seconds(std::max<std::int64_t>(0, time - s.beat));
    status.since_tick = seconds(std::max<std::int64_t>(0, time - s.tick));
    status.ticks = s.ticks;
    status.left_at = seconds(s.left);
    status.operation = get(s.operation);
    status.problem = get(s.problem);
    ranks.push_back(std::move(status));
  }
  return ranks;
}

std::vector<int> RankBoard::processes() const {
  std::vector<int> pids;
  for (int place = 0; place < ranks_; ++place) {
    if (slot(place).pid > 0) pids.push_back(slot(place).pid);
  }
  return pids;
}

// By the number of the process alone, so that a rank that arrives meanwhile is not taken away.
void RankBoard::clear_ended() {
  for (int place = 0; place < ranks_; ++place) {
    std::int32_t pid = slot(place).pid;
    if (pid > 0 && !is_alive(pid)) slot(place).pid.compare_exchange_strong(pid, 0);
  }
}

void RankBoard::arrive(int place, int rank) {
  Slot& s = slot(place);
  s.rank = rank;
  s.waiting = 0;
  s.ticks = 0;
  put(s.problem, "");
  s.beat = s.tick = now();
  s.pid = ::getpid();
  s.state = static_cast<std::int32_t>(RankState::running);
}

void RankBoard::beat(int place) { slot(place).beat = now(); }

void RankBoard::tick(int place) {
  Slot& s = slot(place);
  s.ticks += 1;
  s.tick = now();
}

void RankBoard::waiting(int place, bool for_peers) { slot(place).waiting = for_peers ? 1 : 0; }

void RankBoard::begin(int place, std::string_view operation) {
  put(slot(place).operation, operation);
  tick(place);
}

void RankBoard::problem(int place, std::string_view text) { put(slot(place).problem, text); }

void RankBoard::leave(int place, RankState state) noexcept {
  Slot& s = slot(place);
  auto expected = static_cast<std::int32_t>(RankState::running);
  s.left = now();
  s.state.compare_exchange_strong(expected, static_cast<std::int32_t>(state));
}

void RankBoard::progress(std::size_t done, std::size_t total, double seconds_left) {
  page_->done = static_cast<std::int64_t>(done);
  page_->total = static_cast<std::int64_t>(total);
  page_->seconds_left = seconds_left;
}

JobProgress RankBoard::progress() const {
  return {static_cast<std::size_t>(page_->done.load()),
          static_cast<std::size_t>(page_->total.load()), Seconds(page_->seconds_left.load()),
          get(slot(0).operation)};
}

}  // namespace ddpx
