#include "profiler/cpu/bfloat16.hpp"

#include <bit>
#include <cstddef>

#include "profiler/cpu/float_bits.hpp"

namespace ddpx::cpu {
namespace {

constexpr std::uint32_t kQuiet = 0x00400000U;

// Written so that a loop over it becomes vector code: both outcomes are computed, one is taken.
inline std::uint16_t round_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  const std::uint32_t kept = (bits & kFloatMagnitude) > kFloatInfinity ? bits | kQuiet : rounded;
  return static_cast<std::uint16_t>(kept >> 16U);
}

inline float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace

Bfloat16 to_bfloat16(float value) { return {round_bits(value)}; }
float to_float(Bfloat16 value) { return widen(value.bits); }

void to_bfloat16(std::span<const float> from, std::span<Bfloat16> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i].bits = round_bits(from[i]);
}

void to_float(std::span<const Bfloat16> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = widen(from[i].bits);
}

void add(std::span<const Bfloat16> from, std::span<Bfloat16> to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i].bits = round_bits(widen(to[i].bits) + widen(from[i].bits));
}

}  // namespace ddpx::cpu
