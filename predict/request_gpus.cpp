#include "predict/request_gpus.hpp"

#include <cctype>

namespace ddpx {
namespace {

constexpr int kMostGpus = 1 << 20;
constexpr int kMostNodes = 1 << 14;
constexpr int kMostPerNode = 1024;

// "8" is one node of eight, "2x8" two.
NodeLayout layout_of(const std::string& word) {
  const std::size_t by = word.find('x');
  if (by == std::string::npos) return {1, parse_count("--gpus", word, 1, kMostGpus)};
  if (by == 0 || by + 1 == word.size())
    throw InputError("--gpus",
                     "'" + shown(word) +
                         "' lacks one of its numbers; accepted: GPUs of one host as 8, or "
                         "nodes and GPUs of each as 2x8");
  const NodeLayout layout{parse_count("--gpus", word.substr(0, by), 1, kMostNodes),
                          parse_count("--gpus", word.substr(by + 1), 1, kMostPerNode)};
  return layout;
}

}  // namespace

std::vector<NodeLayout> gpus_of(const Options& options) {
  if (!options.gpus) return {{1, 2}};
  return distinct_list("--gpus", *options.gpus, layout_of);
}

const GpuType& gpu_named(const std::string& name) {
  if (const GpuType* type = find_gpu_type(name)) return *type;
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // A family, another case, or the driver's name.
  std::string meant;
  std::string accepted;
  Device device;
  device.name = name;
  const GpuType* named = gpu_type_of(device);
  for (const GpuType& type : gpu_types()) {
    accepted += (accepted.empty() ? "" : ", ") + std::string(type.name);
    const bool of_family =
        !lower.empty() && (type.name == lower || type.name.starts_with(lower + "-"));
    if (named == nullptr ? of_family : named == &type)
      meant += (meant.empty() ? "" : ", ") + std::string(type.name);
  }
  throw InputError("--gpu", "'" + shown(name) + "' is unknown; " +
                                (meant.empty() ? "" : "did you mean " + meant + "? ") +
                                "accepted: " + accepted);
}

Machine machine_for(const Options& options, const Resolvers& resolvers) {
  if (!options.gpu) return resolvers.machine(options.machine);
  const GpuType& type = gpu_named(*options.gpu);
  if (!options.machine) return machine_of(type);
  return carried_to(resolvers.machine(options.machine), type);
}

void check_groups(const Strategy& strategy, const NodeLayout& layout) {
  if (!strategy.hybrid || layout.nodes <= 1 || strategy.hybrid->replicas == layout.nodes) return;
  throw InputError("--strategy",
                   "'" + describe(strategy) + "' is not how --gpus spreads the ranks: " +
                       "shards are the GPUs of a node; give hsdp=" + std::to_string(layout.nodes) +
                       "x" + std::to_string(layout.gpus_per_node));
}

}  // namespace ddpx
