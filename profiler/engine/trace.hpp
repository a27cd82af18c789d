// A step's spans as the device measured them, under the names the forecast gives its own: event
// pairs around the work, read when the step is over. Recording an event costs a device next to
// nothing and never makes it wait.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/engine/device.hpp"

namespace ddpx::engine {

class Trace {
 public:
  explicit Trace(Device& device) : device_(device), origin_(device.create_event()) {}

  // The step begins here, on the compute stream. Forgets the step before.
  void begin_step();
  // Opens a span at this point of the stream; the index it returns closes it.
  [[nodiscard]] std::size_t begin(Stream stream, std::string_view what, std::size_t number);
  void end(std::size_t span);

  // After Device::synchronize().
  [[nodiscard]] Timeline timeline();

 private:
  struct Open {
    std::string name;
    Stream stream = Stream::compute;
    Event start;
    Event end;
  };

  Event next_event();

  Device& device_;
  Event origin_;
  std::vector<Event> pool_;
  std::size_t used_ = 0;
  std::vector<Open> spans_;
};

// Names of the spans in which the compute stream waits for a collective.
inline constexpr std::string_view kWaitSpan = "wait";

// Share of the timeline in which compute waited for communication.
[[nodiscard]] double communication_share(const Timeline& timeline);

// Does `work` inside a span; without a trace just does it.
template <class Work>
void spanned(Trace* trace, Stream stream, std::string_view what, std::size_t number, Work work) {
  if (trace == nullptr) {
    work();
    return;
  }
  const std::size_t span = trace->begin(stream, what, number);
  work();
  trace->end(span);
}

}  // namespace ddpx::engine
