// bfloat16: the upper half of a float, as the bf16 compression hook sends it. Conversion rounds to
// nearest even, as PyTorch's does.
#pragma once

#include <cstdint>
#include <span>

namespace ddpx::cpu {

struct Bfloat16 {
  std::uint16_t bits = 0;

  friend bool operator==(Bfloat16, Bfloat16) = default;
};

[[nodiscard]] Bfloat16 to_bfloat16(float value);
[[nodiscard]] float to_float(Bfloat16 value);

// Element by element; the spans have equal length.
void to_bfloat16(std::span<const float> from, std::span<Bfloat16> to);
void to_float(std::span<const Bfloat16> from, std::span<float> to);
// to += from, each sum computed in fp32 and rounded once.
void add(std::span<const Bfloat16> from, std::span<Bfloat16> to);

}  // namespace ddpx::cpu
