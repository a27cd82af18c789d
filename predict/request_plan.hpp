// The parts of a request about what keeps scaling from being ideal, about time to target and about
// money. Of request.cpp.
#pragma once

#include "predict/request.hpp"

namespace ddpx {

// --loader-rate, --imbalance and --straggler of one rank. Throws InputError.
void use_conditions(Query& query, const Options& options);
// --straggler spread=P or samples=P, the machine's own spread otherwise.
void use_spread(Machine& machine, const Options& options);
// Whether --straggler says how far samples differ.
[[nodiscard]] bool gives_sample_spread(const Options& options);
// How far --straggler says one rank is behind, where it says that.
void use_delay(Job& job, const Options& options);
[[nodiscard]] Loader loader_of(const std::string& text);

// --samples, --critical-batch, --learning-rate, --price, --deadline.
void use_plan(Query& query, const Options& options, const Resolvers& resolvers);

}  // namespace ddpx
