// Weights and samples made from a seed, the same on every machine. Sample i is the same sample
// whichever rank trains on it, so that N ranks at batch B and one rank at N*B see the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/engine/layout.hpp"

namespace ddpx::engine {

// Uniform in [-1, 1), a function of its place only (SplitMix64, Steele et al. 2014).
[[nodiscard]] float noise(std::uint64_t seed, std::uint64_t place);

// As PyTorch starts a Linear: weights and biases uniform within 1/sqrt(in). In forward order,
// weight before bias.
[[nodiscard]] std::vector<float> initial_parameters(const Layout& layout, std::uint64_t seed);
// The part of them that begins at place `first` of that order and lies in `layer`.
void initial_values(const LinearLayer& layer, std::uint64_t seed, std::size_t first,
                    std::span<float> values);

struct Samples {
  std::vector<float> inputs;
  std::vector<float> labels;
};

// Samples [first, first + count). The label is where the first `classes` inputs (repeated where
// there are fewer) are largest: something that can be learnt.
[[nodiscard]] Samples samples(const Layout& layout, std::uint64_t seed, std::size_t first,
                              std::size_t count);

}  // namespace ddpx::engine
