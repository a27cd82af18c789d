#include "model/network_spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "model/error.hpp"
#include "model/quantity.hpp"

namespace ddpx {
namespace {

constexpr double kMostLayers = 1e5;  // 100,000 gpt layers take 0.2 GB
constexpr double kMostFeatures = 1e7;

constexpr std::string_view kSweepFlag = "--sweep";

struct Key {
  std::string_view name;
  double standard;  // value when it is not given
  double most;
};

struct Generator {
  std::string_view name;
  std::span<const Key> keys;
  Network (*make)(std::span<const double> values);
};

constexpr std::array kMlpKeys{Key{"width", MlpShape{}.width, kMostFeatures},
                              Key{"depth", MlpShape{}.depth, kMostLayers},
                              Key{"classes", MlpShape{}.classes, kMostFeatures}};
constexpr std::array kGptKeys{Key{"layers", GptShape{}.layers, kMostLayers},
                              Key{"hidden", GptShape{}.hidden, kMostFeatures},
                              Key{"heads", GptShape{}.heads, kMostFeatures},
                              Key{"sequence", GptShape{}.sequence, kMostFeatures},
                              Key{"vocabulary", GptShape{}.vocabulary, kMostFeatures}};

Network make_mlp(std::span<const double> v) {
  return mlp({.width = v[0], .depth = static_cast<int>(v[1]), .classes = v[2]});
}

Network make_gpt(std::span<const double> v) {
  if (std::fmod(v[1], v[2]) != 0) {
    const double below = std::floor(v[1] / v[2]) * v[2];
    throw InputError("--network",
                     "gpt: hidden=" + shown(v[1]) + " is no multiple of heads=" + shown(v[2]) +
                         ", and each head takes hidden/heads features; " +
                         "accepted: hidden=" + (below > 0 ? shown(below) + " or " : "") +
                         shown(below + v[2]) + ", or other heads");
  }
  return gpt({.layers = static_cast<int>(v[0]),
              .hidden = v[1],
              .heads = v[2],
              .sequence = v[3],
              .vocabulary = v[4]});
}

constexpr std::array kGenerators{Generator{"mlp", kMlpKeys, make_mlp},
                                 Generator{"gpt", kGptKeys, make_gpt}};

[[noreturn]] void reject(std::string_view word, const std::string& problem,
                         std::string_view place = "--network") {
  throw InputError(place, "'" + std::string(word) + "' " + problem);
}

const Generator* find_generator(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  for (const Generator& generator : kGenerators) {
    if (generator.name == name) return &generator;
  }
  return nullptr;
}

const Generator& generator_of(std::string_view spec) {
  if (const Generator* generator = find_generator(spec)) return *generator;
  reject(spec,
         "is not a network; accepted: mlp:width=W,depth=D,classes=C, "
         "gpt:layers=L,hidden=H,heads=A,sequence=T,vocabulary=V or a network file");
}

std::size_t key_index(const Generator& generator, std::string_view word, std::string_view key,
                      std::string_view place = "--network") {
  std::string accepted;
  for (std::size_t i = 0; i < generator.keys.size(); ++i) {
    if (generator.keys[i].name == key) return i;
    accepted += (i == 0 ? "" : ", ") + std::string(generator.keys[i].name);
  }
  reject(word, "is not a key of " + std::string(generator.name) + "; accepted: " + accepted, place);
}

bool in_range(const Key& key, double value) {
  return value >= 1 && value <= key.most && value == std::floor(value);
}

std::string range_of(const Key& key) {
  return "needs a whole number from 1 to " + shown(key.most) + " after '" + std::string(key.name) +
         "='";
}

double value_of(const Key& key, std::string_view word, std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !in_range(key, value)) reject(word, range_of(key));
  return value;
}

// The words after "mlp:"; none where there is no colon.
std::vector<std::string_view> words_of(std::string_view spec) {
  std::vector<std::string_view> words;
  std::size_t begin = spec.find(':');
  while (begin != std::string_view::npos) {
    const std::size_t end = spec.find(',', begin + 1);
    words.push_back(spec.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1));
    begin = end;
  }
  return words;
}

std::vector<double> values_of(const Generator& generator, std::string_view spec) {
  std::vector<double> values;
  for (const Key& key : generator.keys) values.push_back(key.standard);
  std::vector<bool> given(values.size());
  for (std::string_view word : words_of(spec)) {
    const std::size_t equals = word.find('=');
    const std::size_t i = key_index(generator, word, word.substr(0, equals));
    if (given[i]) reject(word, "is given twice");
    given[i] = true;
    values[i] = value_of(generator.keys[i], word,
                         equals == std::string_view::npos ? "" : word.substr(equals + 1));
  }
  return values;
}

}  // namespace

bool is_network_spec(std::string_view text) { return find_generator(text) != nullptr; }

Network network_from(std::string_view spec) {
  const Generator& generator = generator_of(spec);
  return generator.make(values_of(generator, spec));
}

std::optional<SpecSizes> sizes_of(std::string_view spec) {
  const Generator* generator = find_generator(spec);
  if (generator == nullptr) return std::nullopt;
  try {
    SpecSizes sizes{generator->name, values_of(*generator, spec)};
    for (double& value : sizes.log2_values) value = std::log2(value);
    return sizes;
  } catch (const InputError&) {
    return std::nullopt;  // a file's own name that only begins as a generator's
  }
}

std::optional<double> doublings_between(const SpecSizes& a, const SpecSizes& b) {
  if (a.generator != b.generator) return std::nullopt;
  double squares = 0;
  for (std::size_t i = 0; i < a.log2_values.size(); ++i)
    squares += (a.log2_values[i] - b.log2_values[i]) * (a.log2_values[i] - b.log2_values[i]);
  return std::sqrt(squares);
}

std::string with_key(std::string_view spec, std::string_view key, double value) {
  const Generator& generator = generator_of(spec);
  const Key& swept = generator.keys[key_index(generator, key, key, kSweepFlag)];
  if (!in_range(swept, value))
    reject(std::string(key) + "=" + shown(value), range_of(swept), kSweepFlag);
  const std::string setting = std::string(key) + "=" + shown(value);
  std::string text(generator.name);
  bool placed = false;
  char separator = ':';
  for (std::string_view word : words_of(spec)) {
    const bool same = word.substr(0, word.find('=')) == key;
    text += separator;
    text += same ? setting : std::string(word);
    placed = placed || same;
    separator = ',';
  }
  return placed ? text : text + separator + setting;
}

}  // namespace ddpx
