// A child process, mpirun or a rank itself: started in a process group of its own, its output
// collected, and gone afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddpx {

class ChildProcess {
 public:
  // `command[0]` is a path; `environment` holds NAME=value. Throws DeviceError.
  ChildProcess(const std::vector<std::string>& command,
               const std::vector<std::string>& environment);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Waits up to `milliseconds` for output; keeps the end of it.
  void collect(int milliseconds);
  // Exit status once it has ended (128 + signal when killed).
  [[nodiscard]] std::optional<int> ended();
  // Kills what is left: first `ranks`, whom mpirun cannot end while they are stopped, then the
  // child. A second or two at most.
  void end(const std::vector<int>& ranks);

  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  [[nodiscard]] bool ended_within(int milliseconds);
  void end_child(const std::vector<int>& ranks);
  static void reap(const std::vector<int>& ranks);

  std::string program_;
  int pid_ = -1;
  int pipe_ = -1;
  std::optional<int> status_;
  std::string output_;
};

// The path of `program` in PATH.
[[nodiscard]] std::optional<std::string> in_path(const std::string& program);

}  // namespace ddpx
