// The forecast turned around: which link explains a step that was measured on N GPUs, given the
// same model's step on one?
#pragma once

#include <optional>
#include <string_view>

#include "predict/result.hpp"

namespace ddpx {

struct StepPair {
  Seconds one{};              // the step on one GPU
  Seconds many{};             // on N GPUs
  std::optional<int> gpus{};  // N, where it is said
};

// "t1=120ms,tn=180ms", or "t1=120ms,t16=180ms".
[[nodiscard]] StepPair parse_step_pair(std::string_view place, std::string_view text);

// A latency any link has; the bandwidth of a slow step does not depend on it.
inline constexpr Seconds kInferredLatency{10e-6};

// The steps, and why no link explains them, as an answer.
[[nodiscard]] InferredLink no_link(const Job& job, double parameters, const StepPair& steps,
                                   std::string why);

// Solves for the bus bandwidth at which the forecast step is the measured one, with all that
// `machine` takes besides the link (for_known_step(): the framework, ranks and samples that
// differ), so that a link of that bandwidth and kInferredLatency forecasts `steps.many` again. As
// good as the assumption that nothing else is at fault. Throws UnmetError where no bandwidth
// explains the step: it is no slower than one with free communication (below that step's 90 %
// interval, or at more than N times the samples of one GPU, the steps are not of one training), or
// slower than the slowest link there is.
[[nodiscard]] InferredLink infer_link(const Machine& machine, const Job& job, double parameters,
                                      const StepPair& steps);

}  // namespace ddpx
