// A step laid out in time, forecast or measured: the same type for both, so that the two can be
// drawn over each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/units.hpp"

namespace ddpx {

// `between`: collectives of a second communicator, between nodes, beside those inside.
enum class Stream { compute, communication, host, between };
[[nodiscard]] constexpr std::string_view name(Stream stream) {
  switch (stream) {
    case Stream::compute:
      return "compute";
    case Stream::communication:
      return "communication";
    case Stream::between:
      return "between";
    case Stream::host:
      break;
  }
  return "host";
}

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
