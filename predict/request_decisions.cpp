#include "predict/request_decisions.hpp"

#include <algorithm>
#include <cstdio>

#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

constexpr double kNarrowest = 8;
constexpr double kWidest = 65536;
constexpr double kMostGrowth = 1e4;  // either way
constexpr Bytes kMostMemory{1e15};

}  // namespace

void take_decisions(Query& query, const Options& options) {
  query.rank = options.rank_strategies;
  if (options.gpu_memory) {
    query.gpu_memory = parse_size("--gpu-memory", *options.gpu_memory);
    if (*query.gpu_memory > kMostMemory) {
      throw InputError("--gpu-memory",
                       "'" + shown(*options.gpu_memory) +
                           "' is more than any GPU has; give a size up to 1000000GB");
    }
  }
  for (const std::string& text : options.requirements) {
    const Requirement requirement = parse_requirement("--require", text);
    for (const Requirement& other : query.requirements) {
      if (describe(other) == describe(requirement))
        throw InputError("--require", "'" + shown(text) + "' is given twice");
    }
    query.requirements.push_back(requirement);
  }
}

ModelSize size_of(const std::string& spec) {
  const Network now = network_from(spec);
  const bool decoder = now.name.starts_with("gpt:");
  ModelSize size;
  size.what = decoder ? "hidden" : "width";
  double grain = 1;
  if (decoder) {
    const std::size_t heads = now.name.find("heads=");
    grain = std::stod(now.name.substr(heads + 6));
  }
  const double low = std::max(grain, std::min(kNarrowest, now.width));
  size.axis = {low, std::max(kWidest, now.width), std::max(low, now.width), grain};
  size.at = [spec, key = size.what](double value) {
    return network_from(with_key(spec, key, value));
  };
  return size;
}

ModelSize size_of(const Machine& machine, const Job& job, const MeasuredModel& model,
                  double given_step_s) {
  const double now = model.parameters;
  const auto grown = [model](double factor) {
    return MeasuredModel{model.parameters * factor, model.step * factor, model.batch};
  };
  const Seconds update =
      optimizer_traffic(job.optimizer, now) / machine.update_bandwidth(job.optimizer).value;
  // Shorter steps would be launches and no update.
  const double least = 2 * (machine.kernel_gap.value / (model.step - update));
  ModelSize size;
  size.what = "parameters";
  size.axis = {std::max(now * std::max(1 / kMostGrowth, least), double{OpaqueShape{}.tensors}),
               now * kMostGrowth, now, 0};
  size.at = [machine, job, grown, now](double parameters) {
    return measured_network(machine, job, grown(parameters / now));
  };
  size.flags = [now, given_step_s](double parameters) {
    char text[80];
    std::snprintf(text, sizeof text, "--params %.0f --step-time %.9gms", parameters,
                  1e3 * given_step_s * parameters / now);
    return std::string(text);
  };
  return size;
}

}  // namespace ddpx
