#include "profiler/rank.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "model/error.hpp"
#include "profiler/job_names.hpp"

namespace ddpx {
namespace {

constexpr std::chrono::milliseconds kBeat{100};
constexpr int kTerminatedExit = 143;

// Where ranks of the user's own launcher find each other.
std::string own_board(const RankPlace& place) {
  return job_root() + "/" + kJobPrefix + std::to_string(::getuid()) + "-" + file_name(place.job);
}

// For the handlers, which can be given nothing.
RankBoard* the_board = nullptr;
int the_place = 0;

void on_termination(int /*signal*/) {
  if (the_board != nullptr) the_board->leave(the_place, RankState::terminated);
  std::_Exit(kTerminatedExit);
}

void on_exit() {
  if (the_board != nullptr) the_board->leave(the_place, RankState::exited);
}

}  // namespace

Rank::Rank(RankPlace place, std::string program)
    : place_(std::move(place)),
      program_(std::move(program)),
      board_path_(has_launcher() ? place_.directory + "/" + kBoardName : own_board(place_)),
      board_(board_path_, place_.ranks_on_host) {
  results_ = has_launcher() ? place_.directory + "/" + kResultsName : board_path_ + ".json";
  if (!has_launcher()) board_.clear_ended();
  board_.arrive(place_.rank_on_host, place_.rank);
  the_board = &board_;
  the_place = place_.rank_on_host;
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, &on_termination);
  std::atexit(&on_exit);
  heart_ = std::thread([this] { keep_beating(); });
}

Rank::~Rank() {
  stopping_ = true;
  heart_.join();
  board_.leave(place_.rank_on_host, RankState::exited);
  the_board = nullptr;
}

void Rank::begin(const JobProgress& progress) {
  board_.begin(place_.rank_on_host, progress.operation);
  if (is_first()) board_.progress(progress.done, progress.total, progress.left.value());
}

void Rank::tick() { board_.tick(place_.rank_on_host); }

void Rank::waiting(bool for_peers) { board_.waiting(place_.rank_on_host, for_peers); }

void Rank::publish(std::string_view text) {
  const std::string fresh = results_ + ".new";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(fresh.c_str(), "w"), &std::fclose);
  const bool written =
      file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
      std::fflush(file.get()) == 0 && std::rename(fresh.c_str(), results_.c_str()) == 0;
  if (!written)
    throw DeviceError("keeping finished measurements in " + results_ + ": " +
                      std::generic_category().message(errno));
}

void Rank::finish() {
  board_.leave(place_.rank_on_host, RankState::finished);
  if (has_launcher() || !is_first()) return;
  std::remove(results_.c_str());
  std::remove(board_path_.c_str());
}

void Rank::fail(std::string_view problem, RankState state) {
  board_.problem(place_.rank_on_host, problem);
  board_.leave(place_.rank_on_host, state);
  // The others have it in memory; nobody comes any more.
  if (!has_launcher()) std::remove(board_path_.c_str());
}

void Rank::keep_beating() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (!stopping_) {
    board_.beat(place_.rank_on_host);
    // Whoever started the job is gone: nobody wants the results, and nobody else ends this process.
    if (place_.launcher > 0 && ::kill(place_.launcher, 0) != 0 && errno == ESRCH)
      std::_Exit(kDeviceExit);
    if (!has_launcher())
      watch_the_others(Seconds(std::chrono::duration<double>(Clock::now() - start).count()));
    std::this_thread::sleep_for(kBeat);
  }
}

void Rank::watch_the_others(Seconds since_start) {
  const std::vector<RankStatus> ranks = board_.look();
  const auto failure = diagnose(ranks, since_start, {});
  if (!failure) return;
  // The first that still runs speaks for all.
  for (const RankStatus& rank : ranks) {
    if (rank.rank == failure->rank || rank.state != RankState::running || !rank.alive) continue;
    if (rank.rank != place_.rank) return;
    break;
  }
  std::string line = program_ + ": " + sentence(*failure);
  if (::access(results_.c_str(), R_OK) == 0) line += "; finished measurements are in " + results_;
  std::fprintf(stderr, "%s\n", line.c_str());
  // Said once: the others, as mpirun ends them, are not to complain of this one.
  board_.leave(place_.rank_on_host, RankState::finished);
  std::remove(board_path_.c_str());
  std::_Exit(kDeviceExit);
}

}  // namespace ddpx
