#include "profiler/cuda/records.hpp"

#include <cuda_runtime_api.h>

namespace ddpx::cuda {

std::optional<std::string> Records::start() {
  if (!wanted_) return "CUPTI is left out (--no-cupti)" + kWithoutRecords;
  if (!tracer_) {
    auto opened = Tracer::load(cupti_places(CUDART_VERSION / 1000));
    if (auto* why = std::get_if<std::string>(&opened)) return *why;
    tracer_ = std::move(std::get<std::unique_ptr<Tracer>>(opened));
  }
  return tracer_->start();
}

std::optional<Trace> Records::of(const std::function<void()>& work, Site& site) {
  if (refused_) return std::nullopt;
  site.finish();
  const auto why = start();
  // One for all: a rank that left the work out would leave the others waiting in it.
  double without = why ? 1 : 0;
  site.maximum(std::span(&without, 1));
  if (without > 0) {
    refused_ = true;
    detach();
    site.note(why.value_or("another rank has no kernel records" + kWithoutRecords));
    return std::nullopt;
  }
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

}  // namespace ddpx::cuda
