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
#include "profiler/job_names.hpp"
#include "profiler/mpirun_process.hpp"
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

// The environment of mpirun and the ranks: Open MPI's switches go by environment, so that the
// user's own win and none has to be an argument. https://docs.open-mpi.org, "MCA parameters".
class Environment {
 public:
  Environment() {
    for (char** entry = environ; *entry != nullptr; ++entry) variables_.emplace_back(*entry);
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(variables_, [&](const std::string& v) { return v.starts_with(name + "="); });
    variables_.push_back(name + "=" + value);
  }
  void prefer(const std::string& name, const std::string& value) {
    if (std::getenv(name.c_str()) == nullptr) set(name, value);
  }
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
};

Environment environment_of(const JobOptions& options, const std::string& directory) {
  Environment environment;
  environment.set(kJobVariable, directory);
  environment.set(kLauncherVariable, std::to_string(::getpid()));
  environment.set("OPENBLAS_NUM_THREADS", "1");
  environment.prefer("OMPI_ALLOW_RUN_AS_ROOT", "1");  // containers often have no other user
  environment.prefer("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  environment.prefer("OMPI_MCA_rmaps_base_oversubscribe", "1");  // more ranks than cores
  environment.prefer("OMPI_MCA_hwloc_base_binding_policy",
                     "none");                      // ranks take their core themselves
  environment.prefer("OMPI_MCA_plm", "isolated");  // one host: no ssh
  environment.prefer("OMPI_MCA_pml", "ob1");
  // Single copies need ptrace rights, which containers withhold.
  environment.prefer("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  if (options.transport == Transport::socket) {
    environment.set("OMPI_MCA_btl", "self,tcp");
    environment.prefer("OMPI_MCA_btl_tcp_if_include", "lo");
  } else {
    environment.set("OMPI_MCA_btl", "self,vader");
  }
  // All that a killed rank would leave lies where the job's directory is removed.
  environment.set("OMPI_MCA_orte_tmpdir_base", directory);
  environment.set("OMPI_MCA_btl_vader_backing_directory", directory);
  return environment;
}

// What mpirun had to say, in one line: its first line that is no frame.
std::string first_words(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of("- \t\r") != std::string::npos) return line;
  }
  return "it said nothing";
}

// " (signal 9)" where mpirun noticed one.
std::string signal_words(const std::string& output) {
  constexpr std::string_view kMark = "exited on signal ";
  const std::size_t at = output.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  return " (signal " + output.substr(begin, output.find_first_not_of("0123456789", begin) - begin) +
         ")";
}

}  // namespace

namespace {

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
  const auto mpirun = in_path("mpirun");
  if (!mpirun) {
    throw DeviceError(
        "mpirun is not in PATH; CPU ranks need Open MPI: install openmpi-bin (Debian, "
        "Ubuntu), or run ./setup.sh");
  }
  mpirun_ = *mpirun;
  remove_abandoned_jobs();
  directory_ = job_root() + "/" + kJobPrefix + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) {
    throw DeviceError("making a directory for the job in " + job_root() + ": " +
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

void RankJob::run(const std::function<void(const JobProgress&)>& every) {
  const NoteSignals notes;
  RankBoard board(directory_ + "/" + kBoardName, options_.ranks);
  std::vector<std::string> command{mpirun_, "-n", std::to_string(options_.ranks)};
  command.insert(command.end(), options_.command.begin(), options_.command.end());
  MpirunProcess mpirun(command, environment_of(options_, directory_).variables());
  const auto start = std::chrono::steady_clock::now();
  std::optional<RankFailure> failure;
  std::optional<int> status;
  while (!failure && !status && interrupted_by == 0) {
    mpirun.collect(kLook);
    // mpirun first: a job that ended between the two looks is then seen with all its ranks gone.
    status = mpirun.ended();
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
    failure = diagnose(board.look(), Seconds(since.count()), options_.limits);
    progress_ = board.progress();
    every(progress_);
  }
  mpirun.end(board.processes());
  mpirun.collect(0);
  if (interrupted_by != 0) throw Interrupted("interrupted");
  if (failure) {
    if (failure->what == "was killed") failure->what += signal_words(mpirun.output());
    if (failure->refusal) {
      const std::size_t colon = failure->refusal->find(": ");
      if (colon != std::string::npos)
        throw InputError(failure->refusal->substr(0, colon), failure->refusal->substr(colon + 2));
    }
    throw DeviceError(sentence(*failure));
  }
  if (status != 0) {
    throw DeviceError("mpirun ended with status " + std::to_string(*status) + ": " +
                      first_words(mpirun.output()));
  }
}

std::optional<std::string> RankJob::results() const {
  std::ifstream file(directory_ + "/" + kResultsName, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace ddpx
