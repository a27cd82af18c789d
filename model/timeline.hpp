// A step laid out in time, forecast or measured: the same type for both, so that the two can be
// drawn over each other.
#pragma once

#include <string>
#include <vector>

#include "model/units.hpp"

namespace ddpx {

enum class Stream { compute, communication, host };

struct Span {
  std::string name;
  Stream stream = Stream::compute;
  Seconds start{};
  Seconds end{};
};

struct Timeline {
  std::vector<Span> spans;

  [[nodiscard]] Seconds end() const {
    Seconds last{};
    for (const Span& span : spans) last = span.end > last ? span.end : last;
    return last;
  }
};

}  // namespace ddpx
