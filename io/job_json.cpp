#include "io/job_json.hpp"

#include <array>

#include "io/one_line.hpp"
#include "model/error.hpp"

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

Strategy strategy_of(const Reader& from) {
  const std::string words = from.label();
  try {
    return parse_strategy(words);
  } catch (const InputError& error) {  // it names the flag; here the words come from the file
    constexpr std::size_t kLongest = 300;
    constexpr std::string_view kFlag = "--strategy: ";
    std::string_view problem = error.what();
    if (problem.starts_with(kFlag)) problem.remove_prefix(kFlag.size());
    from.refuse(one_line(problem, kLongest));
  }
}

Scaling scaling_of(const Reader& from) {
  return from.one_of({ScalingWord{Scaling::weak}, ScalingWord{Scaling::strong}}).scaling;
}

void append_job(JsonObject& members, const Job& job, std::string_view link, double batch_per_rank) {
  members.emplace_back("gpus", job.gpus);
  members.emplace_back("link", link);
  members.emplace_back("strategy", describe(job.strategy));
  members.emplace_back("scaling", name(ScalingWord{job.scaling}));
  members.emplace_back("dtype", name(job.dtype));
  members.emplace_back("optimizer", name(job.optimizer));
  members.emplace_back("batch_per_rank", batch_per_rank);
  if (job.graphs) members.emplace_back("graphs", true);
}

}  // namespace ddpx::io
