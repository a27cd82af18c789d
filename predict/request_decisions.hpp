// The parts of a request about decisions: requirements, memory, and how a model can grow. Of
// request.cpp.
#pragma once

#include <string>

#include "predict/measured.hpp"
#include "predict/options.hpp"
#include "predict/query.hpp"

namespace ddpx {

// --rank-strategies, --gpu-memory and --require. Throws InputError.
void take_decisions(Query& query, const Options& options);

// A generator's network grows by its width (mlp) or its hidden size (gpt, in steps of its heads).
[[nodiscard]] ModelSize size_of(const std::string& spec);
// A model known by its step grows as a whole: parameters and step alike. `given_step_s` is the step
// of --step-time as it was given, seconds.
[[nodiscard]] ModelSize size_of(const Machine& machine, const Job& job, const MeasuredModel& model,
                                double given_step_s);

}  // namespace ddpx
