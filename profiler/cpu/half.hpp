// IEEE 754 binary16, as the fp16 compression hook sends it. Conversion rounds to nearest even, as
// PyTorch's does; values beyond 65504 become infinite, and small ones denormal. Whole arrays use
// the processor's own instructions where it has them (F16C, Armv8).
#pragma once

#include <cstdint>
#include <span>

namespace ddpx::cpu {

struct Half {
  std::uint16_t bits = 0;

  friend bool operator==(Half, Half) = default;
};

[[nodiscard]] Half to_half(float value);
[[nodiscard]] float to_float(Half value);

// Element by element; the spans have equal length.
void to_half(std::span<const float> from, std::span<Half> to);
void to_float(std::span<const Half> from, std::span<float> to);
// to += from, each sum computed in fp32 and rounded once.
void add(std::span<const Half> from, std::span<Half> to);

}  // namespace ddpx::cpu
