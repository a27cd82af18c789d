// What every text of a program has to be: lines of 80 columns at the most, of nothing that a
// terminal takes for a command, that do not end in spaces.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "text/page.hpp"
#include "text/unicode.hpp"

namespace ddpx::test {

inline void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns_of(line), kColumns) << line;
    EXPECT_EQ(printable(line), line);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

}  // namespace ddpx::test
