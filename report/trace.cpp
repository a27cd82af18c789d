#include "report/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "report/escape.hpp"

namespace ddpx::report {
namespace {

constexpr std::array kStreams{Stream::compute, Stream::communication, Stream::host,
                              Stream::between};

std::size_t thread_of(Stream stream) { return static_cast<std::size_t>(stream); }

// Names a process or a thread (metadata event).
std::string named(std::string_view what, std::size_t process, std::size_t thread,
                  std::string_view name) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what,
                     process, thread, json_string(name));
}

std::string event(const Span& span, std::size_t process) {
  constexpr double kMicroseconds = 1e6;
  const double start = span.start.value() * kMicroseconds;
  const double length = (span.end - span.start).value() * kMicroseconds;
  return fmt::format(
      R"({{"name":{},"cat":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
      json_string(span.name), name(span.stream), process, thread_of(span.stream), start, length);
}

}  // namespace

std::string chrome_trace(std::span<const TracedStep> steps) {
  std::string events;
  const auto add = [&](const std::string& text) {
    events += events.empty() ? "\n" : ",\n";
    events += text;
  };
  for (std::size_t process = 0; process < steps.size(); ++process) {
    add(named("process_name", process, 0, steps[process].name));
    std::array<bool, kStreams.size()> used{};
    for (const Span& span : steps[process].timeline.spans) used[thread_of(span.stream)] = true;
    for (std::size_t thread = 0; thread < kStreams.size(); ++thread) {
      if (used[thread]) add(named("thread_name", process, thread, name(kStreams[thread])));
    }
    for (const Span& span : steps[process].timeline.spans) {
      if (std::isfinite(span.start.value()) && std::isfinite(span.end.value())) {
        add(event(span, process));
      }
    }
  }
  return R"({"displayTimeUnit":"ms","traceEvents":[)" + events + "\n]}\n";
}

}  // namespace ddpx::report
