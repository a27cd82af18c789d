#include "predict/request_learned.hpp"

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

std::string words_of(const StepKind& kind) {
  return std::string(kind.regime == Regime::host_bound ? "host-bound" : "GPU-bound") + " over " +
         shown(kind.link) + " on " + std::to_string(kind.gpus) + " GPUs (" +
         std::string(name(kind.dtype)) + ", " + std::string(name(kind.engine)) + ")";
}

}  // namespace

void use_validation(Query& query, const Options& options, const Resolvers& resolvers) {
  if (!options.validation) return;
  query.learned.emplace(resolvers.judged_steps(*options.validation, query.machine));
  if (query.learned->kinds().empty())
    throw InputError("--validation", "'" + shown(*options.validation) +
                                         "' has no nine steps of one link, GPU count, dtype, "
                                         "engine and regime, which a 90 % interval takes; "
                                         "measure more, or leave it out");
}

void check_learned(const Query& query, const ForecastDocument& document) {
  if (!query.learned) return;
  for (const ForecastRow& row : document.rows)
    if (row.forecast.learned) return;
  std::string kinds;
  for (const LearnedErrors& errors : query.learned->kinds()) {
    kinds += (kinds.empty() ? "" : "; ") + std::to_string(errors.steps) + " " +
             words_of(errors.kind) + ", of ";
    for (std::size_t i = 0; i < errors.families.size(); ++i)
      kinds += (i == 0 ? "" : ", ") + errors.families[i];
  }
  throw InputError("--validation",
                   "cannot change the answer: its steps are others than were asked for; it has " +
                       kinds + "; leave it out");
}

}  // namespace ddpx
