// How far a long work is: one line on standard error that rewrites itself, gone when the work is.
// Nothing where standard error is no terminal.
#pragma once

#include <cstddef>
#include <string>

#include "model/units.hpp"

namespace ddpx {

class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  // "[3/40] what, about 12 s left". Nothing is shown for a total of 0.
  void show(std::size_t done, std::size_t total, const std::string& what, Seconds left);

 private:
  bool terminal_;
  std::string last_;
};

}  // namespace ddpx
