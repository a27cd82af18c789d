#include "model/blocks.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "model/error.hpp"

namespace ddpx {
namespace {

struct Element {
  std::string_view list;  // the path before the number
  int index = 0;
};

// Every element of a list that a module path passes through.
std::vector<Element> elements_of(std::string_view path) {
  std::vector<Element> found;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    int index = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error == std::errc() && stop == part.data() + part.size() && index >= 0)
      found.push_back({path.substr(0, begin), index});
    begin = end + 1;
  }
  return found;
}

// The block of each layer, by name: the longest list's, the outermost of equally long ones.
std::vector<std::optional<int>> by_name(const Network& network) {
  std::map<std::string_view, std::set<int>> lists;
  for (const Layer& layer : network.layers) {
    if (layer.tensors.empty()) continue;
    for (const Element& element : elements_of(layer.name))
      lists[element.list].insert(element.index);
  }
  std::string_view longest;
  std::size_t most = 0;
  for (const auto& [list, indices] : lists) {
    if (indices.size() > most || (indices.size() == most && list.size() < longest.size())) {
      longest = list;
      most = indices.size();
    }
  }
  std::vector<std::optional<int>> blocks(network.layers.size());
  for (std::size_t i = 0; i < blocks.size() && most > 0; ++i) {
    for (const Element& element : elements_of(network.layers[i].name)) {
      if (element.list == longest) blocks[i] = element.index;
    }
  }
  return blocks;
}

std::vector<std::optional<int>> block_of_layers(const Network& network) {
  const bool said = std::any_of(network.layers.begin(), network.layers.end(),
                                [](const Layer& layer) { return layer.block.has_value(); });
  if (!said) return by_name(network);
  std::vector<std::optional<int>> blocks;
  blocks.reserve(network.layers.size());
  for (const Layer& layer : network.layers) blocks.push_back(layer.block);
  return blocks;
}

Blocks gathered(const Network& network) {
  const std::vector<std::optional<int>> blocks = block_of_layers(network);
  Blocks result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (!blocks[i]) {
      result.root_parameters += layer.parameters();
      result.root_tensors += layer.tensors.size();
      continue;
    }
    const bool goes_on = i > 0 && blocks[i - 1] == blocks[i];
    if (!goes_on) result.list.push_back({i, i, 0, 0});
    Block& block = result.list.back();
    block.end = i + 1;
    block.parameters += layer.parameters();
    block.tensors += layer.tensors.size();
  }
  // A block without parameters (an activation of its own) has nothing to gather.
  std::erase_if(result.list, [](const Block& block) { return block.tensors == 0; });
  return result;
}

}  // namespace

double Blocks::largest() const {
  double most = 0;
  for (const Block& block : list) most = std::max(most, block.parameters);
  return most;
}

bool has_blocks(const Network& network) { return !gathered(network).list.empty(); }

Blocks blocks_of(const Network& network) {
  Blocks blocks = gathered(network);
  if (blocks.list.empty()) {
    throw InputError("--strategy",
                     "network " + network.name +
                         " has no blocks to shard one by one (layers named as elements of a list, "
                         "\"h.0.attn\"); use fsdp=unit");
  }
  return blocks;
}

}  // namespace ddpx
