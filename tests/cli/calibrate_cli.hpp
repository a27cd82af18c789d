// What tests of ddpx-calibrate with real ranks begin with.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/program.hpp"

namespace ddpx::test {

namespace fs = std::filesystem;

inline constexpr const char* kProgram = "ddpx-calibrate";
// Small enough for seconds, whatever else the machine does.
inline const std::vector<std::string> kTiny{"--widths", "64,128",        "--batches",
                                            "8",        "--collectives", "all_reduce",
                                            "--dtypes", "fp32",          "--quick"};

inline std::vector<std::string> with(std::vector<std::string> words,
                                     std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// In the environment of all that this test starts, so that others' ranks are not taken for its own.
inline std::string mark() { return "DDPX_TEST_MARK=" + std::to_string(::getpid()); }

// Processes of the program that are ranks of ours.
inline std::vector<int> rank_processes() {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream comm(entry.path() / "comm");
    std::string name;
    std::getline(comm, name);
    if (name != kProgram) continue;
    const std::string environment = slurp(entry.path() / "environ");
    if (environment.find("DDPX_JOB_DIRECTORY=") != std::string::npos &&
        environment.find(mark()) != std::string::npos)
      found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

class Calibrate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ddpx-calibrate-" + std::to_string(::getpid()) + "/";
    fs::create_directories(folder_);
    ::setenv("DDPX_TEST_MARK", std::to_string(::getpid()).c_str(), 1);
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 0);  // Open MPI never frees all it took
  }
  void TearDown() override {
    EXPECT_TRUE(rank_processes().empty()) << "a rank is left";
    fs::remove_all(folder_);
  }

  std::string folder_;
};

}  // namespace ddpx::test
