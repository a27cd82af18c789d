// What all kernels share: element types, launch sizes, and a check after each launch.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>

#include "profiler/cuda/check.hpp"
#include "profiler/cuda/kernels.hpp"

namespace ddpx::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarp = 32;
inline constexpr std::size_t kMostBlocks = 4096;

inline __device__ float to_float(float v) { return v; }
inline __device__ float to_float(__half v) { return __half2float(v); }
inline __device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
template <class T>
__device__ T from_float(float v);
template <>
inline __device__ float from_float<float>(float v) {
  return v;
}
template <>
inline __device__ __half from_float<__half>(float v) {
  return __float2half_rn(v);
}
template <>
inline __device__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}

inline int blocks_for(std::size_t threads) {
  return static_cast<int>(
      std::clamp<std::size_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks));
}

// Calls work(T*) with the element type of `dtype`.
template <class Work>
void typed(Elements e, Work work) {
  switch (e.dtype) {
    case DType::fp32:
    case DType::tf32:
      return work(static_cast<float*>(e.data));
    case DType::fp16:
      return work(static_cast<__half*>(e.data));
    case DType::bf16:
      return work(static_cast<__nv_bfloat16*>(e.data));
  }
}

inline void check_launch(const char* doing) { check(cudaGetLastError(), doing); }

}  // namespace ddpx::cuda
