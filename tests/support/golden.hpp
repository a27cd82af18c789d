// Compares a result with a file of tests/golden. After an intended change: DDPX_UPDATE_GOLDEN=1
// writes the files anew; read the diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ddpx::test {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first line in which two texts differ, for a message that can be read.
inline std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream one(expected);
  std::istringstream two(actual);
  std::string a;
  std::string b;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(one, a));
    const bool more_b = static_cast<bool>(std::getline(two, b));
    if (!more_a && !more_b) return "they differ in line ends only";
    if (more_a != more_b || a != b) {
      return "line " + std::to_string(line) + "\n  expected: " + (more_a ? a : "(end)") +
             "\n  actual:   " + (more_b ? b : "(end)");
    }
  }
}

// `name` is a file of tests/golden; tests run in the repository's root.
inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = "tests/golden/" + name;
  if (std::getenv("DDPX_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  const std::string expected = file_text(path);
  EXPECT_TRUE(expected == actual) << path << ", " << first_difference(expected, actual);
}

}  // namespace ddpx::test
