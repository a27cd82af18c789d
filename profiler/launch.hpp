// Ranks started by the program itself on this host: it runs itself again, once per rank, and
// watches. Ranks that speak MPI are started by mpirun, others directly. A rank that dies, stops or
// hangs ends the job; whatever happens, no process and no file of the job is left when the RankJob
// is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "profiler/launch_environment.hpp"
#include "profiler/rank_place.hpp"
#include "profiler/watch.hpp"

namespace ddpx {

class ChildProcess;

struct JobOptions {
  int ranks = 2;
  Library library = Library::mpi;
  Transport transport = Transport::automatic;
  std::optional<int> channels;  // NCCL's, at most
  // The program and its arguments, as every rank is to run it. By default this program as it was
  // started.
  std::vector<std::string> command;
  WatchLimits limits;
  std::string work{};  // what the ranks are to do, in whatever words they know (given_work)
};

// SIGINT, SIGTERM or SIGHUP came. Exit code 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RankJob {
 public:
  // Throws DeviceError when mpirun is needed and not there, or no room for the job's directory.
  explicit RankJob(JobOptions options);
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;
  ~RankJob();

  // Starts the ranks and waits for them; `every` is called several times a second. Throws
  // DeviceError naming the rank and the operation (LinkHung where nothing arrives over the link),
  // the InputError of a rank that refused what was asked, or Interrupted. The ranks are gone when
  // it returns, either way.
  void run(const std::function<void(const JobProgress&)>& every);

  // What the first rank published last; also after a failure.
  [[nodiscard]] std::optional<std::string> results() const;
  // How far it came.
  [[nodiscard]] const JobProgress& progress() const { return progress_; }

 private:
  [[nodiscard]] std::vector<std::unique_ptr<ChildProcess>> start() const;

  JobOptions options_;
  std::string mpirun_;  // with Library::mpi
  std::string directory_;
  int lock_ = -1;  // held on the directory as long as this program lives
  JobProgress progress_;
};

// How many times longer than alone work takes now, from the load of the last minute: 1 on a host
// that is not overloaded, 4 at most. A RankJob's limits `come` and `hang` are longer by it, since
// ranks that yield to others look stuck before they are.
[[nodiscard]] double busyness();

// On a rank that a RankJob started: JobOptions::work. Throws DeviceError.
[[nodiscard]] std::string given_work(const RankPlace& place);

// This program and its arguments, from /proc.
[[nodiscard]] std::vector<std::string> own_command();

}  // namespace ddpx
