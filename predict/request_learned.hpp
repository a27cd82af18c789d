// Intervals from judged steps (--validation).
#pragma once

#include "predict/request.hpp"

namespace ddpx {

// After machine, links and networks are known. Forecasts every row again that is of a link asked
// about, as the validation cannot know what has changed since: the machine, a link of the same
// name, the model. Throws InputError where a row comes out otherwise.
void use_validation(Query& query, const Options& options, const Resolvers& resolvers);

// Throws InputError where no row's intervals are those of judged steps.
void check_learned(const Query& query, const ForecastDocument& document);

}  // namespace ddpx
