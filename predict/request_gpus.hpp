// The parts of a request about GPUs: how many, on how many nodes, of which type. Of request.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "model/gpu_type.hpp"
#include "model/quantity.hpp"
#include "predict/request.hpp"

namespace ddpx {

// Values of a comma-separated flag, in the order given and none twice.
template <class Parse>
auto distinct_list(std::string_view flag, const std::string& text, Parse parse) {
  std::vector<decltype(parse(text))> values;
  for (const std::string& word : parse_list(flag, text)) {
    const auto value = parse(word);
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      throw InputError(flag, "'" + shown(word) + "' is given twice");
    }
    values.push_back(value);
  }
  return values;
}

// The layouts of --gpus; one node of two where there is none.
[[nodiscard]] std::vector<NodeLayout> gpus_of(const Options& options);

// The links between the query's GPUs, inside nodes and between them. Throws InputError for one that
// nothing travels over, and for nodes that nothing joins.
void use_links(Query& query, const Options& options, const Resolvers& resolvers);

// What joins the GPUs of `layout` by the same rule, for questions of one run: links, inter_link,
// nics and warnings of a query, from which link_of() makes one link.
[[nodiscard]] Query links_joining(const NodeLayout& layout, const Options& options,
                                  const Machine& machine, const Resolvers& resolvers);

// Whether what joins the GPUs is named: inside nodes, between them, or both.
[[nodiscard]] bool names_link(const Options& options);

// Whether every layout is of nodes with a GPU each, so that nothing travels inside one and
// --inter-link is all that joins them.
[[nodiscard]] bool alone_in_nodes(const std::vector<NodeLayout>& layouts);

// Throws InputError that lists the names.
[[nodiscard]] const GpuType& gpu_named(const std::string& name);

// The machine asked for: calibrated, from a datasheet (--gpu), or carried from one to the other.
[[nodiscard]] Machine machine_for(const Options& options, const Resolvers& resolvers);

// Throws InputError where HSDP's groups are not the nodes: shards are the GPUs of one node.
void check_groups(const Strategy& strategy, const NodeLayout& layout);

}  // namespace ddpx
