#include "profiler/cuda/records.hpp"

#include <cuda_runtime_api.h>

namespace ddpx::cuda {

std::optional<Trace> Records::of(const std::function<void()>& work, Site& site) {
  if (!wanted_ && !refused_)
    return refused("CUPTI is left out (--no-cupti)" + kWithoutRecords, site);
  if (!refused_ && !tracer_) {
    auto opened = Tracer::load(cupti_places(CUDART_VERSION / 1000));
    if (auto* why = std::get_if<std::string>(&opened)) return refused(*why, site);
    tracer_ = std::move(std::get<std::unique_ptr<Tracer>>(opened));
  }
  if (refused_) return std::nullopt;
  site.finish();
  if (const auto why = tracer_->start()) return refused(*why, site);
  work();
  site.finish();
  Trace trace = tracer_->stop();
  if (trace.dropped + trace.untimed > 0)
    site.note(std::to_string(trace.dropped + trace.untimed) + " kernel records were lost");
  return trace;
}

void Records::detach() {
  if (tracer_) tracer_->detach();
  tracer_.reset();
}

std::optional<Trace> Records::refused(const std::string& why, Site& site) {
  refused_ = true;
  site.note(why);
  return std::nullopt;
}

}  // namespace ddpx::cuda
