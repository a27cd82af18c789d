// The words of --infer-link: what a step takes, term by term, and on what grounds.
#pragma once

#include <string>

#include "predict/infer.hpp"

namespace ddpx {

// "a step of 180 ms on 16 GPUs beside 120 ms on one "
[[nodiscard]] std::string problem_of(const StepPair& steps, const Job& job);

// "2.00 ms for the framework and 3.10 ms for waiting for the slowest rank"; "" for nothing.
[[nodiscard]] std::string besides_of(const Step& step);

// All that a step takes: the parts add up to it.
[[nodiscard]] std::string parts_of(const Step& step);

// What those parts rest on: the memory that copies are priced on, how far ranks are taken to
// differ, whose host it is, and the latency that is left where communication is free.
[[nodiscard]] std::string grounds_of(const Machine& machine, const Job& job, const Step& step);

// `besides`: besides_of() the step over the link that was found.
[[nodiscard]] std::string reading_text(const InferredLink& found, const std::string& besides);

}  // namespace ddpx
