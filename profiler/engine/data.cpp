#include "profiler/engine/data.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace ddpx::engine {

float noise(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed * 0xd1342543de82ef95ULL + (place + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  z ^= z >> 31U;
  return static_cast<float>(z >> 40U) * 0x1p-23F - 1.0F;  // 24 bits: exact
}

std::vector<float> initial_parameters(const Layout& layout, std::uint64_t seed) {
  std::vector<float> values;
  values.reserve(layout.parameters());
  for (const LinearLayer& layer : layout.layers()) {
    const std::size_t count = layer.weight.elements + layer.bias.elements;
    const std::size_t first = values.size();
    values.resize(first + count);
    initial_values(layer, seed, first, std::span(values).subspan(first, count));
  }
  return values;
}

void initial_values(const LinearLayer& layer, std::uint64_t seed, std::size_t first,
                    std::span<float> values) {
  // Of a layer's worth of work there is some for every core; a thread takes 20 us to start.
  constexpr std::size_t kPerThread = std::size_t{1} << 21U;
  const float bound = 1.0F / std::sqrt(static_cast<float>(layer.in));
  const auto fill = [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values[i] = bound * noise(seed, first + i);
  };
  const std::size_t threads = std::clamp<std::size_t>(
      values.size() / kPerThread, 1, std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t part = values.size() / threads;
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < threads; ++t)
    others.emplace_back(fill, t * part, t + 1 == threads ? values.size() : (t + 1) * part);
  fill(0, threads > 1 ? part : values.size());
}

Samples samples(const Layout& layout, std::uint64_t seed, std::size_t first, std::size_t count) {
  const std::size_t in = std::max<std::size_t>(1, layout.inputs());
  Samples made;
  made.inputs.reserve(count * in);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = made.inputs.size();
    for (std::size_t j = 0; j < in; ++j) made.inputs.push_back(noise(seed, (first + i) * in + j));
    std::size_t label = 0;
    for (std::size_t j = 1; j < layout.classes(); ++j) {
      if (made.inputs[row + j % in] > made.inputs[row + label % in]) label = j;
    }
    made.labels.push_back(static_cast<float>(label));
  }
  return made;
}

}  // namespace ddpx::engine
