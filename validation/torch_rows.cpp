#include "validation/torch_rows.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "io/file.hpp"
#include "io/runs_json.hpp"
#include "model/error.hpp"
#include "profiler/backends.hpp"
#include "profiler/launch.hpp"
#include "validation/prepare.hpp"
#include "validation/row_request.hpp"

namespace ddpx {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotStart = 127;

// The package lies beside the programs: torch/ of the tree they were built in.
std::string python_path() {
  std::error_code error;
  const fs::path built = fs::path(own_command().front()).parent_path() / ".." / ".." / "torch";
  const char* given = std::getenv("PYTHONPATH");
  std::string path = given == nullptr ? "" : given;
  if (fs::exists(built / "ddpx_torch", error))
    path = fs::canonical(built, error).string() + (path.empty() ? "" : ":") + path;
  return path;
}

// A rows file for as long as it is needed.
class RowsFile {
 public:
  explicit RowsFile(const RowRequest& request)
      : path_(fs::temp_directory_path() / ("ddpx-rows-" + std::to_string(::getpid()) + ".json")) {
    Runs rows;
    rows.name = "rows";
    rows.origin = Origin::torch;
    rows.rows = request.rows;
    io::write_text(path_.string(), io::to_json(rows));
  }
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;
  ~RowsFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::vector<std::string> command_of(const MeasureOptions& options, const RowRequest& request,
                                    const std::string& rows, const std::string& runs) {
  const char* python = std::getenv("DDPX_PYTHON");
  std::vector<std::string> command{python == nullptr ? "python3" : python, "-m", "ddpx_torch"};
  command.insert(command.end(), {"run", "--rows", rows, "-o", runs, "--no-solo"});
  command.insert(command.end(), {"--processes", std::to_string(request.processes), "--seed",
                                 std::to_string(request.seed)});
  std::set<std::string> links;
  for (const RunRow& row : request.rows) links.insert(row.link);
  for (const std::string& link : links)
    command.insert(command.end(), {"--transport", link + "=" + options.transport.value_or("auto")});
  return command;
}

// Runs it on this terminal and waits. Ctrl-C goes to both: it answers, and this program waits.
int run_command(std::vector<std::string> command, const std::string& path) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(kDeviceExit);
    ::setenv("PYTHONPATH", path.c_str(), 1);
    ::execvp(words.front(), words.data());
    ::_exit(kCannotStart);
  }
  if (child < 0) throw DeviceError("starting " + command.front() + ": no process can be had");
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &before);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::sigaction(SIGINT, &before, nullptr);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  throw DeviceError(command.front() + " -m ddpx_torch was ended by signal " +
                    std::to_string(WTERMSIG(status)));
}

}  // namespace

TorchRuns measure_torch_rows(const ValidateOptions& options) {
  const RowRequest request =
      row_request(options, visible_gpus() > 0 ? Library::nccl : Library::mpi);
  TorchRuns runs;
  runs.path = path_for(options.measure);
  check_comparable(options, request);
  check_writable(options, runs.path);
  const RowsFile rows(request);
  const std::vector<std::string> command =
      command_of(options.measure, request, rows.path(), runs.path);
  runs.exit_code = run_command(command, python_path());
  if (runs.exit_code == kCannotStart) {
    throw InputError("--run-torch", "'" + command.front() +
                                        "' cannot be started; give a Python that has PyTorch as "
                                        "DDPX_PYTHON in the environment");
  }
  if (runs.exit_code == 1) {  // Python's own: it is no answer of ddpx_torch
    throw DeviceError(command.front() +
                      " cannot run ddpx_torch, which lies in torch/ of this tree");
  }
  if (runs.exit_code == 0) warn(options);  // a refusal is one line
  return runs;
}

}  // namespace ddpx
