#include "profiler/child_process.hpp"

#include <fcntl.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "model/error.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kMostOutput = 16384;
constexpr int kCannotStart = 127;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words)
    all.push_back(
        const_cast<char*>(word.c_str()));  // NOLINT(*-const-cast): execve's signature is C
  all.push_back(nullptr);
  return all;
}

// Between fork and exec: only calls that are safe in a signal handler.
[[noreturn]] void become(char* const* command, char* const* environment, int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody is left to end it when this program is killed
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) std::signal(signal, SIG_DFL);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execve(command[0], command, environment);
  ::_exit(kCannotStart);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::vector<std::string>& environment)
    : program_(command.front()) {
  // Ranks that outlive mpirun become children of this process instead of nobody's.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<char*> words = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw DeviceError("starting " + program_ + ": " + std::generic_category().message(errno));
  pid_ = ::fork();
  if (pid_ == 0) become(words.data(), variables.data(), ends[1]);
  const int error = errno;
  ::close(ends[1]);
  pipe_ = ends[0];
  ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
  if (pid_ > 0) return;
  ::close(pipe_);
  throw DeviceError("starting " + program_ + ": " + std::generic_category().message(error));
}

ChildProcess::~ChildProcess() {
  end({});
  ::close(pipe_);
}

void ChildProcess::collect(int milliseconds) {
  struct pollfd waiting {
    pipe_, POLLIN, 0
  };
  if (::poll(&waiting, 1, milliseconds) <= 0) return;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::read(pipe_, chunk.data(), chunk.size())) > 0)
    output_.append(chunk.data(), static_cast<std::size_t>(got));
  // The pipe has ended but the process has not: wait here instead of spinning.
  if (got == 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  if (output_.size() > kMostOutput) output_.erase(0, output_.size() - kMostOutput);
}

std::optional<int> ChildProcess::ended() {
  if (status_ || pid_ < 0) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

bool ChildProcess::ended_within(int milliseconds) {
  constexpr int kStep = 20;
  for (int waited = 0; waited <= milliseconds; waited += kStep) {
    if (ended()) return true;
    collect(kStep);
  }
  return false;
}

void ChildProcess::end(const std::vector<int>& ranks) {
  end_child(ranks);
  reap(ranks);
}

void ChildProcess::end_child(const std::vector<int>& ranks) {
  if (ended()) return;
  for (int rank : ranks) ::kill(rank, SIGKILL);
  // mpirun then ends by itself and takes its own files along; a rank is gone already.
  if (!ranks.empty() && ended_within(1500)) return;
  ::kill(-pid_, SIGTERM);
  if (ended_within(1500)) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // should it not have got a group of its own yet
  static_cast<void>(ended_within(2000));
}

void ChildProcess::reap(const std::vector<int>& ranks) {
  constexpr int kTries = 50;
  for (int rank : ranks) {
    // Once mpirun is gone its ranks are this process's children (or nobody's, if it took note of
    // their end itself).
    for (int i = 0; i < kTries && ::waitpid(rank, nullptr, WNOHANG) == 0; ++i) {
      ::kill(rank, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

std::optional<std::string> in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return std::nullopt;
}

}  // namespace ddpx
