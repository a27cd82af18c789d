// The kernels of a training step that no library has. Pointers are device memory; matrices are
// row-major and dense; arithmetic is fp32 whatever the element type. Everything is issued to
// `stream` and returns at once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "model/operation.hpp"
#include "profiler/engine/adamw.hpp"

namespace ddpx::cuda {

// Elements of one dtype in device memory. tf32 is stored as fp32.
struct Elements {
  void* data = nullptr;
  std::size_t count = 0;
  DType dtype = DType::fp32;
};

// rows[r][c] += bias[c], then with `relu` max(., 0).
void add_bias(Elements rows, Elements bias, bool relu, cudaStream_t stream);
// gradient = 0 where the activation is 0.
void relu_backward(Elements gradient, Elements activation, cudaStream_t stream);
// sums[c] = sum over rows.
void sum_rows(Elements rows, Elements sums, cudaStream_t stream);
// Softmax cross-entropy of a row of logits per label, each weighted by `weight`; gradient of the
// logits, and the sum of losses in loss[0] (added unless `fresh`). `row_losses`: scratch, one float
// per row. Labels are fp32 whole numbers.
void cross_entropy(Elements logits, Elements labels, float weight, bool fresh, Elements loss,
                   Elements gradient, float* row_losses, cudaStream_t stream);
// to = factor * from, converting between dtypes, rounding to nearest even.
void copy_scaled(Elements from, float factor, Elements to, cudaStream_t stream);
// to += from
void add(Elements from, Elements to, cudaStream_t stream);
// parameters -= rate * gradients
void sgd(Elements parameters, Elements gradients, float rate, cudaStream_t stream);
// All fp32; `count`: two elements, zero before the first update (engine/adamw.hpp).
struct AdamWState {
  Elements parameters;
  Elements gradients;
  Elements first;
  Elements second;
  Elements count;
};
// One AdamW update (engine/update.hpp).
void adamw(const AdamWState& state, const engine::AdamW& settings, cudaStream_t stream);
// Uniform in [-1, 1), a function of seed and index alone.
void fill_random(Elements values, unsigned seed, cudaStream_t stream);
// Keeps the stream busy for this long with one thread, so that what is issued meanwhile queues up
// behind it.
void spin(long long nanoseconds, cudaStream_t stream);

}  // namespace ddpx::cuda
