#include "profiler/engine/trace.hpp"

#include <utility>

namespace ddpx::engine {

Event Trace::next_event() {
  if (used_ == pool_.size()) pool_.push_back(device_.create_event());
  return pool_[used_++];
}

void Trace::begin_step() {
  spans_.clear();
  used_ = 0;
  device_.record(Stream::compute, origin_);
}

std::size_t Trace::begin(Stream stream, std::string_view what, std::size_t number) {
  Open span;
  span.name = std::string(what) + " " + std::to_string(number);
  span.stream = stream;
  span.start = next_event();
  span.end = next_event();
  device_.record(stream, span.start);
  spans_.push_back(std::move(span));
  return spans_.size() - 1;
}

void Trace::end(std::size_t span) { device_.record(spans_[span].stream, spans_[span].end); }

Timeline Trace::timeline() {
  Timeline timeline;
  for (const Open& span : spans_) {
    timeline.spans.push_back({span.name, span.stream, device_.elapsed(origin_, span.start),
                              device_.elapsed(origin_, span.end)});
  }
  return timeline;
}

double communication_share(const Timeline& timeline) {
  Seconds waited{};
  for (const Span& span : timeline.spans) {
    if (span.stream == Stream::compute && span.name.starts_with(kWaitSpan))
      waited += span.end - span.start;
  }
  return timeline.end() > Seconds{} ? waited / timeline.end() : 0.0;
}

}  // namespace ddpx::engine
