// Calibrations whose ranks are killed or stopped, or that are interrupted, when they have measured
// something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "profiler/job_names.hpp"
#include "tests/cli/calibrate_cli.hpp"

namespace ddpx::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Of the environment that process `pid` was started with; empty where it has none of that name.
std::string variable(int pid, const std::string& name) {
  const std::string environment =
      std::string(1, '\0') + slurp("/proc/" + std::to_string(pid) + "/environ");
  const std::string key = std::string(1, '\0') + name + "=";
  const std::size_t at = environment.find(key);
  if (at == std::string::npos) return "";
  return environment.c_str() + at + key.size();
}

class CalibrateInterrupted : public Calibrate {
 protected:
  // Starts a calibration, does `mischief` to the process id of rank 1 once it measures, and waits.
  struct Ending {
    int exit_code = -1;
    std::string err;
    double seconds = 0;  // from the mischief on
  };
  Ending with_mischief(const std::function<void(int program, int rank)>& mischief) {
    const std::string program = std::string(std::getenv("DDPX_BIN_DIR")) + "/" + kProgram;
    const std::string err = folder_ + "err";
    const std::string raw = folder_ + "raw.json";
    const int pid = ::fork();
    if (pid == 0) {
      ::freopen(err.c_str(), "w", stderr);
      ::freopen("/dev/null", "w", stdout);
      ::execl(program.c_str(), kProgram, "--full", "-o", (folder_ + "m.json").c_str(),
              "--measurements", raw.c_str(), nullptr);
      ::_exit(127);
    }
    int victim = 0;
    for (int i = 0; i < 600 && victim == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (const int rank : rank_processes()) {
        // Once a measurement is finished, so that there is something to keep.
        if (variable(rank, "OMPI_COMM_WORLD_RANK") == "1" &&
            slurp(variable(rank, kJobVariable) + "/" + kResultsName).find("times_s") !=
                std::string::npos)
          victim = rank;
      }
    }
    EXPECT_NE(victim, 0) << "no rank has finished a measurement in a minute";
    const auto start = std::chrono::steady_clock::now();
    if (victim == 0)
      ::kill(pid, SIGKILL);
    else
      mischief(pid, victim);
    int status = 0;
    ::waitpid(pid, &status, 0);
    Ending ending;
    ending.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ending.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ending.err = slurp(err);
    return ending;
  }

  void expect_kept() const {
    EXPECT_FALSE(fs::exists(folder_ + "m.json"));
    EXPECT_THAT(slurp(folder_ + "raw.json"), HasSubstr("ddpx.measurements"));
  }
};

TEST_F(CalibrateInterrupted, a_killed_rank_ends_it_within_ten_seconds_and_keeps_what_was_finished) {
  const Ending ending = with_mischief([](int, int rank) { ::kill(rank, SIGKILL); });
  EXPECT_EQ(ending.exit_code, 3);
  EXPECT_LT(ending.seconds, 10);
  EXPECT_THAT(ending.err, AllOf(HasSubstr("rank 1 was killed"), HasSubstr(" in "),
                                HasSubstr("measurements are kept in " + folder_ + "raw.json")));
  expect_kept();
}

TEST_F(CalibrateInterrupted,
       a_stopped_rank_ends_it_within_ten_seconds_and_keeps_what_was_finished) {
  const Ending ending = with_mischief([](int, int rank) { ::kill(rank, SIGSTOP); });
  EXPECT_EQ(ending.exit_code, 3);
  EXPECT_LT(ending.seconds, 10);
  EXPECT_THAT(ending.err, AllOf(HasSubstr("rank 1 is stopped"), HasSubstr(" in ")));
  expect_kept();
}

TEST_F(CalibrateInterrupted, an_interrupt_ends_it_with_130_and_keeps_what_was_finished) {
  const Ending ending = with_mischief([](int program, int) { ::kill(program, SIGINT); });
  EXPECT_EQ(ending.exit_code, 130);
  EXPECT_LT(ending.seconds, 10);
  EXPECT_THAT(ending.err, HasSubstr("interrupted; "));
  expect_kept();
}

TEST_F(CalibrateInterrupted, termination_is_the_same) {
  const Ending ending = with_mischief([](int program, int) { ::kill(program, SIGTERM); });
  EXPECT_EQ(ending.exit_code, 130);
  EXPECT_LT(ending.seconds, 10);
  expect_kept();
}

}  // namespace
}  // namespace ddpx::test
