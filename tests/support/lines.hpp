// What a page holds, by its lines.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

namespace ddpx::test {

inline std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

inline std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace ddpx::test
