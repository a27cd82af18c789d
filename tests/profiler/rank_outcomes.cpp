#include "tests/profiler/rank_outcomes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace ddpx::test {
namespace {

constexpr std::size_t kMostRanks = 64;
constexpr std::size_t kLongest = 160;  // name of a test
constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::milliseconds kLookForTheEnd{100};

void keep(std::array<char, kLongest>& to, const std::string& text) {
  std::strncpy(to.data(), text.c_str(), to.size() - 1);
}

std::system_error failure(const std::string& what) {
  return {errno, std::generic_category(), what};
}

}  // namespace

struct RankOutcomes::Board {
  std::atomic<int> exchanges{0};  // that this rank has come to: written last
  std::array<char, kLongest> test{};
  std::array<char, kLongest> early{};
};

// In a new file all zero, which is how it begins.
struct RankOutcomes::Shared {
  std::atomic<int> ending{0};
  std::array<Board, kMostRanks> boards;
};

RankOutcomes::RankOutcomes(engine::Device& device) : rank_(device.rank()), ranks_(device.ranks()) {
  static_assert(std::atomic<int>::is_always_lock_free);
  if (ranks_ > static_cast<int>(kMostRanks)) throw std::runtime_error("tests: too many ranks");
  std::array<double, 1> first{rank_ == 0 ? static_cast<double>(::getpid()) : 0.0};
  device.maximum(first);
  const std::string path = "/tmp/ddpx-ranks-" + std::to_string(static_cast<long long>(first[0]));
  const auto make = [&] {
    const int file = ::open(path.c_str(), rank_ == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
    if (file < 0) throw failure(path);
    if (rank_ == 0 && ::ftruncate(file, sizeof(Shared)) != 0) throw failure(path);
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) throw failure(path);
    shared_ = static_cast<Shared*>(memory);
  };
  if (rank_ == 0) make();
  device.barrier();
  if (rank_ != 0) make();
  device.barrier();
  if (rank_ == 0) ::unlink(path.c_str());
  // A rank that waits in a collective for one that has left it looks at nothing else.
  std::thread([shared = shared_] {
    while (shared->ending.load() == 0) std::this_thread::sleep_for(kLookForTheEnd);
    ::_exit(1);
  }).detach();
}

// The thread looks at the memory for as long as the process lives.
RankOutcomes::~RankOutcomes() = default;

bool RankOutcomes::all_have_come() const {
  for (int r = 0; r < ranks_; ++r)
    if (shared_->boards.at(static_cast<std::size_t>(r)).exchanges.load() < exchanges_) return false;
  return true;
}

// Between the first rank and any that came out of another test, or otherwise.
std::optional<std::string> RankOutcomes::disagreement() const {
  const Board& first = shared_->boards.front();
  for (int r = 1; r < ranks_; ++r) {
    const Board& other = shared_->boards.at(static_cast<std::size_t>(r));
    if (std::strcmp(first.test.data(), other.test.data()) != 0)
      return "rank " + std::to_string(r) + " ran " + other.test.data() + " where rank 0 ran " +
             first.test.data();
    const bool other_left = other.early[0] != '\0';
    if ((first.early[0] != '\0') == other_left) continue;
    return "rank " + std::to_string(other_left ? r : 0) + " left " + first.test.data() + " (" +
           (other_left ? other : first).early.data() + ") and rank " +
           std::to_string(other_left ? 0 : r) + " ran it to its end";
  }
  return std::nullopt;
}

std::string RankOutcomes::not_come(std::chrono::seconds to_come) const {
  int missing = 0;
  int came = 0;
  for (int r = 0; r < ranks_; ++r) {
    const Board& board = shared_->boards.at(static_cast<std::size_t>(r));
    if (board.exchanges.load() < exchanges_) {
      missing = r;
    } else if (r == rank_ || board.early[0] != '\0') {
      came = r;
    }
  }
  const Board& board = shared_->boards.at(static_cast<std::size_t>(came));
  const std::string how =
      board.early[0] != '\0' ? " (" + std::string(board.early.data()) + ")" : std::string();
  return "rank " + std::to_string(came) + " left " + board.test.data() + how + " and rank " +
         std::to_string(missing) + " has not come out of it for " +
         std::to_string(to_come.count()) + " s";
}

void RankOutcomes::end_all(const std::string& line) const {
  if (shared_->ending.exchange(1) == 0) {
    std::printf("%s; all ranks end here\n", line.c_str());
    std::fflush(stdout);
  }
  ::_exit(1);
}

void RankOutcomes::exchange(const std::string& test, const std::string& early,
                            std::chrono::seconds to_come) {
  Board& own = shared_->boards.at(static_cast<std::size_t>(rank_));
  keep(own.test, test);
  keep(own.early, early);
  own.exchanges.store(++exchanges_);
  const auto until = std::chrono::steady_clock::now() + to_come;
  while (!all_have_come()) {
    if (std::chrono::steady_clock::now() > until) end_all(not_come(to_come));
    std::this_thread::sleep_for(kLook);
  }
  if (const auto what = disagreement()) end_all(*what);
  // None writes of the next test while another reads of this one.
  own.exchanges.store(++exchanges_);
  while (!all_have_come()) std::this_thread::sleep_for(kLook);
}

}  // namespace ddpx::test
