// Kernels that know rows and columns: biases, their gradients, the loss.
#include <cstdint>

#include "profiler/cuda/elements.cuh"

namespace ddpx::cuda {
namespace {

constexpr int kPackBytes = 16;  // one load or store of a thread

template <class T>
struct alignas(kPackBytes) Pack {
  T values[kPackBytes / sizeof(T)];
};

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

}  // namespace ddpx::cuda
