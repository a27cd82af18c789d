// Elements of host memory as numbers, rounded to nearest even when they are written: fp32, or bf16,
// which is the upper half of a float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/engine/device.hpp"

namespace ddpx::engine {

inline double get(Slice slice, std::size_t i) {
  if (slice.dtype == DType::fp32) return double{reinterpret_cast<float*>(slice.data)[i]};
  const std::uint32_t upper = reinterpret_cast<std::uint16_t*>(slice.data)[i];
  return double{std::bit_cast<float>(upper << 16U)};
}

inline void set(Slice slice, std::size_t i, double value) {
  const auto single = static_cast<float>(value);
  if (slice.dtype == DType::fp32) {
    reinterpret_cast<float*>(slice.data)[i] = single;
    return;
  }
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t even = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  reinterpret_cast<std::uint16_t*>(slice.data)[i] = static_cast<std::uint16_t>(even);
}

inline std::vector<double> values(Slice slice) {
  std::vector<double> all(slice.elements);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = get(slice, i);
  return all;
}

}  // namespace ddpx::engine
