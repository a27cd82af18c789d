// Intervals from validated steps (--validation).
#pragma once

#include "predict/request.hpp"

namespace ddpx {

// Throws InputError where the file supports no interval at all.
void use_validation(Query& query, const Options& options, const Resolvers& resolvers);

// Throws InputError where it speaks of none of the rows.
void check_learned(const Query& query, const ForecastDocument& document);

}  // namespace ddpx
