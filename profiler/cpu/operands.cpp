#include "profiler/cpu/operands.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace ddpx::cpu {
namespace {

constexpr std::size_t kUsualLayers = 8;
constexpr std::size_t kMostFloats = std::size_t{256} * 1024 * 1024 / sizeof(float);
constexpr std::size_t kLine = 64;  // bytes of a cache line
constexpr std::size_t kPage = 4096;

// Marsaglia's xorshift32: operands only have to be no pattern.
float next_value(std::uint32_t& state) {
  state ^= state << 13U;
  state ^= state >> 17U;
  state ^= state << 5U;
  return static_cast<float>(static_cast<std::int32_t>(state | 1U)) * 0x1p-31F;
}

}  // namespace

void Operands::Free::operator()(float* memory) const { std::free(memory); }

std::size_t Operands::layers_for(std::size_t floats) {
  return std::clamp<std::size_t>(kMostFloats / std::max<std::size_t>(floats, 1), 1, kUsualLayers);
}

void Operands::prepare(std::size_t layers, std::size_t floats) {
  constexpr std::size_t kPerLine = kLine / sizeof(float);
  layers_ = layers;
  floats_ = floats;
  stride_ = (floats + kPerLine - 1) / kPerLine * kPerLine;
  const std::size_t needed = layers_ * stride_;
  if (needed > capacity_) {
    memory_.reset();
    const std::size_t bytes = (needed * sizeof(float) + kPage - 1) / kPage * kPage;
    memory_.reset(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
    if (!memory_) throw std::bad_alloc();
    capacity_ = bytes / sizeof(float);
  }
  std::uint32_t state = 2463534242U;
  for (std::size_t i = 0; i < needed; ++i) memory_.get()[i] = next_value(state);
}

std::span<float> Operands::layer(std::size_t index) {
  return {memory_.get() + (index % layers_) * stride_, floats_};
}

}  // namespace ddpx::cpu
