// What the bits of an fp32 number mean (IEEE 754 binary32), for conversions that work on them.
#pragma once

#include <cstdint>

namespace ddpx::cpu {

inline constexpr std::uint32_t kFloatMagnitude = 0x7fffffffU;  // all but the sign
inline constexpr std::uint32_t kFloatInfinity = 0x7f800000U;   // larger magnitudes are no numbers

}  // namespace ddpx::cpu
