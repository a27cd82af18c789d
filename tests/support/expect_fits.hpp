// What every text of a program has to be: lines of 80 columns at the most, of printable ASCII, that
// do not end in spaces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "text/page.hpp"

namespace ddpx::test {

inline void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), kColumns) << line;
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
        << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

}  // namespace ddpx::test
