// mpirun as a child process: started in a process group of its own, its output collected, and gone
// afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ddpx {

class MpirunProcess {
 public:
  // `command[0]` is the path of mpirun; `environment` holds NAME=value. Throws DeviceError.
  MpirunProcess(const std::vector<std::string>& command,
                const std::vector<std::string>& environment);
  MpirunProcess(const MpirunProcess&) = delete;
  MpirunProcess& operator=(const MpirunProcess&) = delete;
  ~MpirunProcess();

  // Waits up to `milliseconds` for output; keeps the end of it.
  void collect(int milliseconds);
  // Exit status once it has ended (128 + signal when killed).
  [[nodiscard]] std::optional<int> ended();
  // Kills what is left: first `ranks`, whom mpirun itself cannot end while they are stopped, then
  // mpirun. A second or two at most.
  void end(const std::vector<int>& ranks);

  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  [[nodiscard]] bool ended_within(int milliseconds);
  void end_mpirun(const std::vector<int>& ranks);
  static void reap(const std::vector<int>& ranks);

  int pid_ = -1;
  int pipe_ = -1;
  std::optional<int> status_;
  std::string output_;
};

// The path of `program` in PATH.
[[nodiscard]] std::optional<std::string> in_path(const std::string& program);

}  // namespace ddpx
