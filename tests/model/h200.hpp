// What tests about kernels of an H200 take from it.
#pragma once

namespace ddpx::test {

inline constexpr int kSms = 132;  // its multiprocessors

}  // namespace ddpx::test
