#include "io/job_json.hpp"

#include <array>

namespace ddpx::io {
namespace {

constexpr std::array<std::string_view, 2> kScalings{"weak", "strong"};  // by Scaling

// Found by Reader::one_of.
struct ScalingWord {
  Scaling scaling;
};
std::string_view name(ScalingWord word) {
  return kScalings.at(static_cast<std::size_t>(word.scaling));
}

}  // namespace

Scaling scaling_of(const Reader& from) {
  return from.one_of({ScalingWord{Scaling::weak}, ScalingWord{Scaling::strong}}).scaling;
}

void append_job(JsonObject& members, const Job& job, std::string_view link) {
  members.emplace_back("gpus", job.gpus);
  members.emplace_back("link", link);
  members.emplace_back("strategy", describe(job.strategy));
  members.emplace_back("scaling", name(ScalingWord{job.scaling}));
  members.emplace_back("dtype", name(job.dtype));
  members.emplace_back("optimizer", name(job.optimizer));
  members.emplace_back("batch_per_rank", job.batch_per_rank);
}

}  // namespace ddpx::io
