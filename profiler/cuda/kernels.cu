// Element by element: copies, updates, and what measuring needs.
#include <cstdint>

#include "profiler/cuda/elements.cuh"

namespace ddpx::cuda {
namespace {

// to[i] = f(to[i], from[i]); four elements at a time where both sides are aligned for it.
template <class To, class From, bool reads_to, bool packed, class F>
__global__ void combine(const From* from, To* to, std::size_t n, F f) {
  constexpr int kAtOnce = packed ? 4 : 1;
  struct alignas(packed ? 4 * sizeof(From) : sizeof(From)) In {
    From v[kAtOnce];
  };
  struct alignas(packed ? 4 * sizeof(To) : sizeof(To)) Out {
    To v[kAtOnce];
  };
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t groups = n / kAtOnce;
  for (std::size_t i = first; i < groups; i += step) {
    const In in = reinterpret_cast<const In*>(from)[i];
    Out out;
    if constexpr (reads_to) out = reinterpret_cast<const Out*>(to)[i];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const float old = reads_to ? to_float(out.v[k]) : 0.0F;
      out.v[k] = from_float<To>(f(old, to_float(in.v[k])));
    }
    reinterpret_cast<Out*>(to)[i] = out;
  }
  for (std::size_t i = groups * kAtOnce + first; i < n; i += step) {
    const float old = reads_to ? to_float(to[i]) : 0.0F;
    to[i] = from_float<To>(f(old, to_float(from[i])));
  }
}

template <bool reads_to, class To, class From, class F>
void launch(const From* from, To* to, std::size_t n, F f, cudaStream_t stream) {
  if (n == 0) return;
  const auto aligned = [](const void* p, std::size_t size) {
    return reinterpret_cast<std::uintptr_t>(p) % (4 * size) == 0;
  };
  if (aligned(from, sizeof(From)) && aligned(to, sizeof(To))) {
    combine<To, From, reads_to, true>
        <<<blocks_for(n / 4 + 1), kThreads, 0, stream>>>(from, to, n, f);
  } else {
    combine<To, From, reads_to, false><<<blocks_for(n), kThreads, 0, stream>>>(from, to, n, f);
  }
}

template <bool reads_to, class F>
void elementwise(Elements from, Elements to, F f, const char* doing, cudaStream_t stream) {
  typed(from, [&](auto* source) {
    typed(to, [&](auto* target) { launch<reads_to>(source, target, to.count, f, stream); });
  });
  check_launch(doing);
}

// Wang's integer hash.
__device__ unsigned hash(unsigned x) {
  x = (x ^ 61U) ^ (x >> 16U);
  x *= 9U;
  x ^= x >> 4U;
  x *= 0x27d4eb2dU;
  return x ^ (x >> 15U);
}

template <class T>
__global__ void random_kernel(T* values, std::size_t n, unsigned seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    const unsigned bits =
        hash(hash(static_cast<unsigned>(i) + seed) ^ static_cast<unsigned>(i >> 32U));
    values[i] = from_float<T>(static_cast<float>(bits >> 8U) * 0x1p-23F - 1.0F);
  }
}

__global__ void spin_kernel(long long nanoseconds) {
  long long now = 0;
  long long start = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

}  // namespace

void relu_backward(Elements gradient, Elements activation, cudaStream_t stream) {
  elementwise<true>(
      activation, gradient,
      [] __device__(float old, float active) { return active > 0 ? old : 0.0F; },
      "gradient of ReLU", stream);
}

void copy_scaled(Elements from, float factor, Elements to, cudaStream_t stream) {
  elementwise<false>(
      from, to, [factor] __device__(float, float v) { return factor * v; }, "a scaled copy",
      stream);
}

void add(Elements from, Elements to, cudaStream_t stream) {
  elementwise<true>(
      from, to, [] __device__(float old, float v) { return old + v; }, "adding gradients", stream);
}

void sgd(Elements parameters, Elements gradients, float rate, cudaStream_t stream) {
  elementwise<true>(
      gradients, parameters, [rate] __device__(float old, float g) { return old - rate * g; },
      "the SGD update", stream);
}

void fill_random(Elements values, unsigned seed, cudaStream_t stream) {
  typed(values, [&]<class T>(T* data) {
    random_kernel<<<blocks_for(values.count), kThreads, 0, stream>>>(data, values.count, seed);
  });
  check_launch("filling memory with random numbers");
}

void spin(long long nanoseconds, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(nanoseconds);
  check_launch("holding the stream");
}

}  // namespace ddpx::cuda
