// Steps as Chrome trace JSON, for chrome://tracing and ui.perfetto.dev: each timeline is a process,
// its streams are threads, so that a forecast and a measured step stand side by side on one time
// axis. Format: "Trace Event Format", Google, complete events (ph X) with times in microseconds.
#pragma once

#include <span>
#include <string>

#include "model/timeline.hpp"

namespace ddpx::report {

struct TracedStep {
  std::string name;  // "forecast: mlp:width=4096, 2 GPUs on nvlink4"
  Timeline timeline;
};

// Spans that are not finite are left out, as JSON has no way to write them.
[[nodiscard]] std::string chrome_trace(std::span<const TracedStep> steps);

}  // namespace ddpx::report
