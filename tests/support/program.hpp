// Runs a built program as a user does and collects what it says. Programs are found in
// DDPX_BIN_DIR, which ctest sets.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddpx::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  // Lines on standard error.
  [[nodiscard]] long lines() const { return std::count(err.begin(), err.end(), '\n'); }
};

// For a POSIX shell.
inline std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `redirection` replaces the capture of standard output, as ">/dev/full"; `input` is what standard
// input holds. No machine calibrated by whoever runs the tests is seen.
inline ProgramResult run_program(const std::string& name, const std::vector<std::string>& arguments,
                                 const std::string& redirection = "",
                                 const std::string& input = "") {
  const char* directory = std::getenv("DDPX_BIN_DIR");
  if (directory == nullptr)
    throw std::runtime_error("DDPX_BIN_DIR is not set; run the tests with ctest");
  const std::string base = testing::TempDir() + "ddpx-" + std::to_string(::getpid());
  std::ofstream(base + ".in", std::ios::binary) << input;
  std::string command = "XDG_DATA_HOME=" + shell_quoted(base + ".data") + " " +
                        shell_quoted(std::string(directory) + "/" + name);
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  command += " <" + shell_quoted(base + ".in") + " 2>" + shell_quoted(base + ".err");
  command += redirection.empty() ? " >" + shell_quoted(base + ".out") : " " + redirection;
  const int status = std::system(command.c_str());
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (redirection.empty()) result.out = slurp(base + ".out");
  result.err = slurp(base + ".err");
  for (const char* ending : {".in", ".out", ".err"}) std::remove((base + ending).c_str());
  return result;
}

}  // namespace ddpx::test
