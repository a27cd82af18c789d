#include "predict/request_gpus.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "predict/gpu_counts.hpp"
#include "predict/link_text.hpp"
#include "predict/setting.hpp"

namespace ddpx {
namespace {

constexpr int kMostNodes = 1 << 14;
constexpr int kMostPerNode = 1024;
constexpr int kMostNics = 1024;

// "8" is one node of eight, "2x8" two.
NodeLayout parse_layout(const std::string& word) {
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

std::vector<Link> links_of(const Options& options, const Machine& machine,
                           const Resolvers& resolvers) {
  if (options.links.empty()) return {resolvers.link("--link", std::nullopt, machine)};
  std::vector<Link> list;
  std::set<std::string> names;
  for (const std::string& text : options.links) {
    list.push_back(resolvers.link("--link", text, machine));
    if (!names.insert(list.back().name).second) {
      throw InputError("--link", "'" + shown(text) + "' is the link '" + shown(list.back().name) +
                                     "', which is already given");
    }
  }
  return list;
}

// What only nodes can use, and what nodes need.
void use_nodes(Query& query, const Options& options, const Resolvers& resolvers) {
  const bool several = std::any_of(query.gpus.begin(), query.gpus.end(),
                                   [](const NodeLayout& layout) { return layout.nodes > 1; });
  if (options.inter_link && !several)
    throw InputError(
        "--inter-link",
        "joins nodes, and --gpus names none; give nodes and the GPUs of each, as --gpus "
        "2x8 for two of eight or 8x1 for eight of one");
  if (options.nics && !options.inter_link)
    throw InputError("--nics", "counts NICs of --inter-link, which is missing");
  if (options.inter_link)
    query.inter_link = resolvers.link("--inter-link", *options.inter_link, query.machine);
  if (options.nics) query.nics = parse_count("--nics", *options.nics, 1, kMostNics);
}

// Of which level a link is: as the table has it, or a file that says so. Figures are of neither,
// and what was measured says it by its hosts (use_hosts()).
bool of_known_level(const Link& link) {
  return link.curves.empty() && !link.topology_assumed && !given_by_figures(link);
}
bool known_to_join_nodes(const Link& link) {
  return of_known_level(link) && link.topology == Topology::network;
}
bool known_to_join_gpus(const Link& link) {
  return of_known_level(link) && link.topology != Topology::network;
}

// Links named for the other's level.
void check_levels(Query& query, const Options& options) {
  if (!query.inter_link) return;
  const Link& between = *query.inter_link;
  const auto network = std::find_if(query.links.begin(), query.links.end(), known_to_join_nodes);
  const bool misplaced = !options.links.empty() && network != query.links.end();
  if (known_to_join_gpus(between) && misplaced)
    throw InputError("--link", "'" + shown(network->name) + "' joins nodes, and --inter-link '" +
                                   shown(between.name) +
                                   "' the GPUs inside one; swap them: --link " +
                                   shown(between.name) + " --inter-link " + shown(network->name));
  if (known_to_join_gpus(between))
    throw InputError("--inter-link",
                     "'" + shown(between.name) +
                         "' joins the GPUs of one host and no nodes; name a network "
                         "(--list-links), or its figures, as 12GB/s,20us" +
                         (between.topology == Topology::nvlink
                              ? "; GPUs that NVLink joins across hosts are --gpus 72 of one --link"
                              : ""));
  if (misplaced)
    query.warnings.push_back("--link " + shown(network->name) +
                             " is a network, and taken as what joins the GPUs inside a node; name "
                             "what does (--list-links)");
}

// More NICs than GPUs (AWS gives an H100 four) help until the links inside a node set the pace.
void warn_of_idle_nics(Query& query) {
  constexpr CollectiveCall kLarge{Collective::all_reduce, DType::fp32, Bytes(1 << 30), 2};
  for (const NodeLayout& layout : query.gpus) {
    if (layout.nodes < 2 || layout.gpus_per_node < 2 || *query.nics <= layout.gpus_per_node)
      continue;
    const auto time = [&](int nics) {
      CollectiveCall call = kLarge;
      call.ranks = layout.gpus();
      return price(two_level(query.links.front(), *query.inter_link, layout, nics), call).time;
    };
    if (time(*query.nics) < time(layout.gpus_per_node) * (1 - 1e-6)) continue;
    query.warnings.push_back("--nics " + std::to_string(*query.nics) + " is no faster than " +
                             std::to_string(layout.gpus_per_node) +
                             ", one per GPU of a node: over " + query.inter_link->name +
                             " the links inside a node set the pace");
    return;
  }
}

}  // namespace

bool names_link(const Options& options) { return !options.links.empty() || options.inter_link; }

bool alone_in_nodes(const std::vector<NodeLayout>& layouts) {
  return std::all_of(layouts.begin(), layouts.end(),
                     [](const NodeLayout& layout) { return layout.gpus_per_node == 1; });
}

Query links_joining(const NodeLayout& layout, const Options& options, const Machine& machine,
                    const Resolvers& resolvers) {
  Query query;
  query.machine = machine;
  query.gpus = {layout};
  use_links(query, options, resolvers);
  return query;
}

void use_links(Query& query, const Options& options, const Resolvers& resolvers) {
  use_nodes(query, options, resolvers);
  if (!query.inter_link || !alone_in_nodes(query.gpus)) {
    query.links = links_of(options, query.machine, resolvers);
    check_levels(query, options);
    use_hosts(query);
    if (query.nics) warn_of_idle_nics(query);
    return;
  }
  if (!options.links.empty())
    throw InputError("--link", "joins the GPUs inside a node, and '" + shown(*options.gpus) +
                                   "' has one in each: nothing travels over it; leave it out "
                                   "(--inter-link joins the nodes)");
  check_levels(query, options);
  if (query.nics && !query.inter_link->curves.empty())
    throw InputError("--nics", "cannot change what was measured between nodes of one GPU ('" +
                                   shown(query.inter_link->name) + "'); leave it out");
  // NCCL treats a GPU by what it could reach: the machine's own link says whether it has NVLink.
  Link inside = query.machine.links.empty() ? Link{} : query.machine.links.front();
  inside.name = query.inter_link->name;
  query.links = {std::move(inside)};
  use_hosts(query);
}

std::vector<NodeLayout> gpus_of(const Options& options) {
  if (!options.gpus) return {{1, 2}};
  return distinct_list("--gpus", *options.gpus, parse_layout);
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
  const Machine machine = resolvers.machine(options.machine);
  if (gpu_type_of(machine.device) == &type)
    throw InputError("--gpu", "'" + shown(*options.gpu) + "' is what " + shown(*options.machine) +
                                  " was measured on; leave --gpu out, or name another GPU");
  return carried_to(machine, type);
}

void check_groups(const Strategy& strategy, const NodeLayout& layout) {
  if (!strategy.hybrid || layout.nodes <= 1 || strategy.hybrid->replicas == layout.nodes) return;
  throw InputError("--strategy",
                   "'" + describe(strategy) + "' is not how --gpus spreads the ranks: " +
                       "shards are the GPUs of a node; give hsdp=" + std::to_string(layout.nodes) +
                       "x" + std::to_string(layout.gpus_per_node));
}

}  // namespace ddpx
