#include "profiler/launch.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "model/error.hpp"
#include "profiler/backend.hpp"
#include "profiler/child_process.hpp"
#include "profiler/job_names.hpp"
#include "profiler/rank_board.hpp"

namespace ddpx {
namespace {

constexpr int kLook = 50;  // milliseconds between two looks at the ranks

volatile std::sig_atomic_t interrupted_by = 0;

// While a job runs, signals are noted instead of ending the program; afterwards they do again what
// they did.
class NoteSignals {
 public:
  NoteSignals() {
    interrupted_by = 0;
    struct sigaction note {};
    note.sa_handler = [](int signal) { interrupted_by = signal; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &note, &before_[i]);
  }
  NoteSignals(const NoteSignals&) = delete;
  NoteSignals& operator=(const NoteSignals&) = delete;
  ~NoteSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_{};
};

std::optional<std::string> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// What a child had to say, in one line: its first line that is no frame.
std::string first_words(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of("- \t\r") != std::string::npos) return line;
  }
  return "it said nothing";
}

// " (signal 9)" where mpirun noticed one, or the child itself ended by one.
std::string signal_words(const ChildProcess& child, std::optional<int> status) {
  constexpr std::string_view kMark = "exited on signal ";
  constexpr int kSignalled = 128;
  const std::string& output = child.output();
  const std::size_t at = output.find(kMark);
  if (at == std::string::npos) {
    if (!status || *status <= kSignalled) return "";
    return " (signal " + std::to_string(*status - kSignalled) + ")";
  }
  const std::size_t begin = at + kMark.size();
  return " (signal " + output.substr(begin, output.find_first_not_of("0123456789", begin) - begin) +
         ")";
}

// Directories of jobs whose program was killed: nobody holds their lock. One that was made just now
// may not be locked yet.
void remove_abandoned_jobs() {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto recent = fs::file_time_type::clock::now() - std::chrono::seconds(10);
  for (fs::directory_iterator entry(job_root(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (!entry->path().filename().string().starts_with(kJobPrefix) ||
        !entry->is_directory(unknown) || entry->last_write_time(unknown) > recent)
      continue;
    const int directory = ::open(entry->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) continue;
    if (::flock(directory, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry->path(), unknown);
    ::close(directory);
  }
}

}  // namespace

double busyness() {
  constexpr double kOrdinary = 1.5;  // running processes per core, ours among them
  constexpr double kMost = 4;
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return 1;
  const double cores = std::max(1.0, static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::clamp(load / cores / kOrdinary, 1.0, kMost);
}

std::string file_name(std::string name) {
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '.' && c != '-') c = '_';
  }
  return name;
}

std::string job_root() {
  if (::access("/dev/shm", W_OK) == 0) return "/dev/shm";
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp";
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> command;
  for (std::string word; std::getline(file, word, '\0');) command.push_back(word);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (command.empty() || error)
    throw DeviceError("reading /proc/self: cannot find out what program this is");
  command.front() = self.string();
  return command;
}

RankJob::RankJob(JobOptions options) : options_(std::move(options)) {
  if (options_.command.empty()) options_.command = own_command();
  if (options_.library == Library::mpi) {
    const auto mpirun = in_path("mpirun");
    if (!mpirun) {
      throw DeviceError(
          "mpirun is not in PATH; CPU ranks need Open MPI: install openmpi-bin (Debian, "
          "Ubuntu), or run ./setup.sh");
    }
    mpirun_ = *mpirun;
  }
  remove_abandoned_jobs();
  directory_ = job_root() + "/" + kJobPrefix + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) {
    throw DeviceError("making a directory for the job in " + job_root() + ": " +
                      std::generic_category().message(errno));
  }
  if (!options_.work.empty()) {
    std::ofstream file(directory_ + "/" + kWorkName, std::ios::binary);
    if (!(file << options_.work << std::flush))
      throw DeviceError("writing the ranks' work to " + directory_ + ": " +
                        std::generic_category().message(errno));
  }
  lock_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX);
}

RankJob::~RankJob() {
  if (lock_ >= 0) ::close(lock_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::vector<std::unique_ptr<ChildProcess>> RankJob::start() const {
  Environment environment;
  environment.set(kJobVariable, directory_);
  environment.set(kLauncherVariable, std::to_string(::getpid()));
  std::vector<std::unique_ptr<ChildProcess>> children;
  if (options_.library == Library::mpi) {
    for (const char* variable : {kRankVariable, kRanksVariable}) environment.unset(variable);
    add_mpi_switches(options_.transport, directory_, environment);
    std::vector<std::string> command{mpirun_, "-n", std::to_string(options_.ranks)};
    command.insert(command.end(), options_.command.begin(), options_.command.end());
    children.push_back(std::make_unique<ChildProcess>(command, environment.variables()));
    return children;
  }
  add_nccl_switches(options_.transport, options_.channels, environment);
  environment.set(kRanksVariable, std::to_string(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) {
    environment.set(kRankVariable, std::to_string(rank));
    children.push_back(std::make_unique<ChildProcess>(options_.command, environment.variables()));
  }
  return children;
}

void RankJob::run(const std::function<void(const JobProgress&)>& every) {
  const NoteSignals notes;
  RankBoard board(directory_ + "/" + kBoardName, options_.ranks);
  const std::vector<std::unique_ptr<ChildProcess>> children = start();
  const auto start = std::chrono::steady_clock::now();
  std::optional<RankFailure> failure;
  std::optional<int> status;  // of the first that failed, or 0 when all have ended well
  const ChildProcess* ended = children.front().get();
  while (!failure && !status && interrupted_by == 0) {
    // The children first: a job that ended between the two looks is then seen with all its ranks
    // gone.
    std::size_t done = 0;
    for (const auto& child : children) {
      child->collect(kLook / static_cast<int>(children.size()));
      const std::optional<int> one = child->ended();
      if (!one) continue;
      ++done;
      if (*one == 0 || status) continue;
      status = one;
      ended = child.get();
    }
    if (done == children.size() && !status) status = 0;
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
    WatchLimits limits = options_.limits;
    const double busy = busyness();
    limits.come = busy * limits.come;
    limits.hang = busy * limits.hang;
    failure = diagnose(board.look(), Seconds(since.count()), limits);
    progress_ = board.progress();
    every(progress_);
  }
  std::vector<int> processes = board.processes();
  if (options_.library == Library::nccl) {
    // The ranks are the children themselves: whoever else waited for them would take their status.
    for (const int process : processes) ::kill(process, SIGKILL);
    processes.clear();
  }
  for (const auto& child : children) {
    child->end(processes);
    child->collect(0);
  }
  if (interrupted_by != 0) throw Interrupted("interrupted");
  if (failure) {
    if (failure->what == "was killed") failure->what += signal_words(*ended, status);
    if (failure->refusal) {
      const std::size_t colon = failure->refusal->find(": ");
      if (colon != std::string::npos)
        throw InputError(failure->refusal->substr(0, colon), failure->refusal->substr(colon + 2));
    }
    if (failure->link_hung) throw LinkHung(sentence(*failure));
    throw DeviceError(sentence(*failure));
  }
  if (status != 0) {
    throw DeviceError((mpirun_.empty() ? std::string("a rank") : std::string("mpirun")) +
                      " ended with status " + std::to_string(*status) + ": " +
                      first_words(ended->output()));
  }
}

std::optional<std::string> RankJob::results() const {
  return contents(directory_ + "/" + kResultsName);
}

std::string given_work(const RankPlace& place) {
  auto text = contents(place.directory + "/" + kWorkName);
  if (!text)
    throw DeviceError("reading the rank's work in " + place.directory + ": it is not there");
  return std::move(*text);
}

}  // namespace ddpx
