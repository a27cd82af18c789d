#include "profiler/cpu/half.hpp"

#include <bit>
#include <cstddef>

#include "profiler/cpu/float_bits.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ddpx::cpu {
namespace {

constexpr std::uint16_t kHalfInfinity = 0x7c00U;
constexpr std::uint16_t kHalfQuietNan = 0x7e00U;

void to_half_by_element(std::span<const float> from, std::span<Half> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = to_half(from[i]);
}

void to_float_by_element(std::span<const Half> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = to_float(from[i]);
}

void add_by_element(std::span<const Half> from, std::span<Half> to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i] = to_half(to_float(to[i]) + to_float(from[i]));
}

#ifdef __x86_64__
// F16C converts eight at a time: VCVTPS2PH and VCVTPH2PS, Intel SDM volume 2.
constexpr std::size_t kLanes = 8;

bool has_f16c() {
  // Clang 14's __builtin_cpu_supports() does not know "f16c".
  static const bool has = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
           (ecx & bit_F16C) != 0;
  }();
  return has;
}

[[gnu::target("avx,f16c")]] __m256 load(const Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

[[gnu::target("avx,f16c")]] void store(__m256 values, Half* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

[[gnu::target("avx,f16c")]] std::size_t to_half_by_lanes(std::span<const float> from,
                                                         std::span<Half> to) {
  std::size_t i = 0;
  for (; i + kLanes <= from.size(); i += kLanes) store(_mm256_loadu_ps(&from[i]), &to[i]);
  return i;
}

[[gnu::target("avx,f16c")]] std::size_t to_float_by_lanes(std::span<const Half> from,
                                                          std::span<float> to) {
  std::size_t i = 0;
  for (; i + kLanes <= from.size(); i += kLanes) _mm256_storeu_ps(&to[i], load(&from[i]));
  return i;
}

[[gnu::target("avx,f16c")]] std::size_t add_by_lanes(std::span<const Half> from,
                                                     std::span<Half> to) {
  std::size_t i = 0;
  for (; i + kLanes <= from.size(); i += kLanes)
    store(_mm256_add_ps(load(&from[i]), load(&to[i])), &to[i]);
  return i;
}
#else
bool has_f16c() { return false; }
std::size_t to_half_by_lanes(std::span<const float>, std::span<Half>) { return 0; }
std::size_t to_float_by_lanes(std::span<const Half>, std::span<float>) { return 0; }
std::size_t add_by_lanes(std::span<const Half>, std::span<Half>) { return 0; }
#endif

}  // namespace

Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & kFloatMagnitude;
  if (magnitude > kFloatInfinity) return {static_cast<std::uint16_t>(sign | kHalfQuietNan)};
  // 65520 is halfway between the largest half and the next power of two: from there on, infinity.
  if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | kHalfInfinity)};
  if (magnitude < 0x38800000U) {
    // Below 2^-14 a half counts in units of 2^-24, and so does the last bit of a float near 0.5:
    // adding 0.5 rounds to that unit, to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {
        static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U))};
  }
  // Rebias the exponent (127 to 15) and round away the 13 lowest bits, to nearest even.
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13U))};
}

float to_float(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= kHalfInfinity)
    return std::bit_cast<float>(sign | kFloatInfinity | ((magnitude & 0x3ffU) << 13U));
  if (magnitude < 0x400U) {
    const float unit = std::bit_cast<float>(0x33800000U);  // 2^-24
    return std::bit_cast<float>(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13U) + 0x38000000U));
}

void to_half(std::span<const float> from, std::span<Half> to) {
  const std::size_t done = has_f16c() ? to_half_by_lanes(from, to) : 0;
  to_half_by_element(from.subspan(done), to.subspan(done));
}

void to_float(std::span<const Half> from, std::span<float> to) {
  const std::size_t done = has_f16c() ? to_float_by_lanes(from, to) : 0;
  to_float_by_element(from.subspan(done), to.subspan(done));
}

void add(std::span<const Half> from, std::span<Half> to) {
  const std::size_t done = has_f16c() ? add_by_lanes(from, to) : 0;
  add_by_element(from.subspan(done), to.subspan(done));
}

}  // namespace ddpx::cpu
