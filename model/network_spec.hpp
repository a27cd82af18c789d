// Networks in the words of --network: a generator and its keys, "mlp:width=4096,depth=8" or
// "gpt:layers=12,hidden=768,heads=12,sequence=1024,vocabulary=50257". Keys come in any order and
// default to the generator's own values (network.hpp). Network::name is such a text and reads back
// to the same network.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.hpp"

namespace ddpx {

// Whether the text names a generator ("mlp", "mlp:..."); otherwise it is a file for someone else.
[[nodiscard]] bool is_network_spec(std::string_view text);

// Throws InputError, and nothing else, for an unknown generator and for a key that is unknown,
// given twice, not a whole number or out of range; it names the word and what is accepted.
[[nodiscard]] Network network_from(std::string_view spec);

// The values of a generator's keys as such a text gives them; nullopt for any other text.
struct SpecSizes {
  std::string_view generator;
  std::vector<double> log2_values;
};
[[nodiscard]] std::optional<SpecSizes> sizes_of(std::string_view spec);
// How far apart two networks of one generator are, in doublings of their keys; nullopt of two.
[[nodiscard]] std::optional<double> doublings_between(const SpecSizes& a, const SpecSizes& b);

// The same text with `key` set to `value`, as a sweep over widths needs it. Throws InputError, in
// the name of --sweep, where the generator has no such key or the key no such value.
[[nodiscard]] std::string with_key(std::string_view spec, std::string_view key, double value);

}  // namespace ddpx
