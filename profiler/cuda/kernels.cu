#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "profiler/cuda/check.hpp"
#include "profiler/cuda/kernels.hpp"

namespace ddpx::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr std::size_t kMostBlocks = 4096;
constexpr int kPackBytes = 16;  // one load or store of a thread

template <class T>
struct alignas(kPackBytes) Pack {
  T values[kPackBytes / sizeof(T)];
};

__device__ float to_float(float v) { return v; }
__device__ float to_float(__half v) { return __half2float(v); }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
template <class T>
__device__ T from_float(float v);
template <>
__device__ float from_float<float>(float v) {
  return v;
}
template <>
__device__ __half from_float<__half>(float v) {
  return __float2half_rn(v);
}
template <>
__device__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}

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

int blocks_for(std::size_t threads) {
  return static_cast<int>(
      std::clamp<std::size_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks));
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

void check_launch(const char* doing) { check(cudaGetLastError(), doing); }

template <bool reads_to, class F>
void elementwise(Elements from, Elements to, F f, const char* doing, cudaStream_t stream) {
  typed(from, [&](auto* source) {
    typed(to, [&](auto* target) { launch<reads_to>(source, target, to.count, f, stream); });
  });
  check_launch(doing);
}

template <class T>
__global__ void bias_kernel(T* rows, const T* bias, std::size_t n, unsigned columns, bool relu) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    const float v = to_float(rows[i]) + to_float(bias[i % columns]);
    rows[i] = from_float<T>(relu && v < 0 ? 0.0F : v);
  }
}

// As above, a pack at a time; columns are a multiple of a pack.
template <class T>
__global__ void bias_kernel_packed(Pack<T>* rows, const Pack<T>* bias, std::size_t packs,
                                   unsigned packs_per_row, bool relu) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += step) {
    Pack<T> row = rows[i];
    const Pack<T> add = bias[static_cast<unsigned>(i % packs_per_row)];
#pragma unroll
    for (int k = 0; k < kPackBytes / static_cast<int>(sizeof(T)); ++k) {
      const float v = to_float(row.values[k]) + to_float(add.values[k]);
      row.values[k] = from_float<T>(relu && v < 0 ? 0.0F : v);
    }
    rows[i] = row;
  }
}

// A warp-wide strip of columns per block; its rows of threads share the matrix's rows, and the
// partial sums are added in shared memory in a fixed order.
template <class T>
__global__ void sum_rows_kernel(const T* rows, T* sums, std::size_t count, unsigned columns) {
  __shared__ float partial[kWarp][kWarp + 1];
  const unsigned column = blockIdx.x * kWarp + threadIdx.x;
  float sum = 0;
  if (column < columns) {
    for (std::size_t r = threadIdx.y; r < count; r += kWarp)
      sum += to_float(rows[r * columns + column]);
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (int half = kWarp / 2; half > 0; half /= 2) {
    if (threadIdx.y < half)
      partial[threadIdx.y][threadIdx.x] += partial[threadIdx.y + half][threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.y == 0 && column < columns) sums[column] = from_float<T>(partial[0][threadIdx.x]);
}

template <class F>
__device__ float block_reduce(float value, F f) {
  __shared__ float lanes[kWarp];
  for (int d = kWarp / 2; d > 0; d /= 2) value = f(value, __shfl_down_sync(~0U, value, d));
  __syncthreads();  // a use before this one has been read by all
  if (threadIdx.x % kWarp == 0) lanes[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < (blockDim.x + kWarp - 1) / kWarp; ++w)
      lanes[0] = f(lanes[0], lanes[w]);
  }
  __syncthreads();
  return lanes[0];
}

template <class T>
__global__ void cross_entropy_kernel(const T* logits, const float* labels, float weight,
                                     T* gradient, float* row_losses, unsigned classes) {
  const std::size_t row = blockIdx.x;
  const T* in = logits + row * classes;
  T* out = gradient + row * classes;
  float largest = -3.4e38F;
  for (unsigned c = threadIdx.x; c < classes; c += blockDim.x)
    largest = fmaxf(largest, to_float(in[c]));
  largest = block_reduce(largest, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (unsigned c = threadIdx.x; c < classes; c += blockDim.x)
    sum += expf(to_float(in[c]) - largest);
  sum = block_reduce(sum, [](float a, float b) { return a + b; });
  const auto label = static_cast<unsigned>(labels[row]);
  // Before the gradient is written: the logits may be its memory.
  const float own = to_float(in[label]);
  __syncthreads();
  for (unsigned c = threadIdx.x; c < classes; c += blockDim.x) {
    const float share = expf(to_float(in[c]) - largest) / sum;
    out[c] = from_float<T>(weight * (share - (c == label ? 1.0F : 0.0F)));
  }
  if (threadIdx.x == 0) row_losses[row] = weight * (logf(sum) + largest - own);
}

__global__ void add_losses(const float* row_losses, unsigned rows, bool fresh, float* loss) {
  float sum = 0;
  for (unsigned r = threadIdx.x; r < rows; r += blockDim.x) sum += row_losses[r];
  sum = block_reduce(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) *loss = fresh ? sum : *loss + sum;
}

__global__ void adamw_kernel(float* p, const float* g, float* m, float* v, std::size_t n,
                             float rate) {
  constexpr float kFirst = 0.9F;
  constexpr float kSecond = 0.999F;
  constexpr float kEpsilon = 1e-8F;
  constexpr float kDecay = 0.01F;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    const float first = kFirst * m[i] + (1 - kFirst) * g[i];
    const float second = kSecond * v[i] + (1 - kSecond) * g[i] * g[i];
    m[i] = first;
    v[i] = second;
    p[i] -= rate * (first / (sqrtf(second) + kEpsilon) + kDecay * p[i]);
  }
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

void add_bias(Elements rows, Elements bias, bool relu, cudaStream_t stream) {
  typed(rows, [&]<class T>(T* data) {
    constexpr std::size_t kPer = kPackBytes / sizeof(T);
    const auto* b = static_cast<const T*>(bias.data);
    const bool packed = bias.count % kPer == 0 &&
                        reinterpret_cast<std::uintptr_t>(data) % kPackBytes == 0 &&
                        reinterpret_cast<std::uintptr_t>(b) % kPackBytes == 0;
    if (packed) {
      const std::size_t packs = rows.count / kPer;
      bias_kernel_packed<<<blocks_for(packs), kThreads, 0, stream>>>(
          reinterpret_cast<Pack<T>*>(data), reinterpret_cast<const Pack<T>*>(b), packs,
          static_cast<unsigned>(bias.count / kPer), relu);
    } else {
      bias_kernel<<<blocks_for(rows.count), kThreads, 0, stream>>>(
          data, b, rows.count, static_cast<unsigned>(bias.count), relu);
    }
  });
  check_launch("adding a bias");
}

void relu_backward(Elements gradient, Elements activation, cudaStream_t stream) {
  elementwise<true>(
      activation, gradient,
      [] __device__(float old, float active) { return active > 0 ? old : 0.0F; },
      "gradient of ReLU", stream);
}

void sum_rows(Elements rows, Elements sums, cudaStream_t stream) {
  typed(rows, [&]<class T>(T* data) {
    const auto columns = static_cast<unsigned>(sums.count);
    sum_rows_kernel<<<(columns + kWarp - 1) / kWarp, dim3(kWarp, kWarp), 0, stream>>>(
        static_cast<const T*>(data), static_cast<T*>(sums.data), rows.count / sums.count, columns);
  });
  check_launch("gradient of a bias");
}

void cross_entropy(Elements logits, Elements labels, float weight, bool fresh, Elements loss,
                   Elements gradient, float* row_losses, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(labels.count);
  const auto classes = static_cast<unsigned>(logits.count / labels.count);
  typed(logits, [&]<class T>(T* data) {
    cross_entropy_kernel<<<rows, kThreads, 0, stream>>>(
        static_cast<const T*>(data), static_cast<const float*>(labels.data), weight,
        static_cast<T*>(gradient.data), row_losses, classes);
  });
  add_losses<<<1, kThreads, 0, stream>>>(row_losses, rows, fresh, static_cast<float*>(loss.data));
  check_launch("the loss");
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

void adamw(Elements parameters, Elements gradients, Elements first_moment, Elements second_moment,
           float rate, cudaStream_t stream) {
  adamw_kernel<<<blocks_for(parameters.count), kThreads, 0, stream>>>(
      static_cast<float*>(parameters.data), static_cast<const float*>(gradients.data),
      static_cast<float*>(first_moment.data), static_cast<float*>(second_moment.data),
      parameters.count, rate);
  check_launch("the AdamW update");
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
