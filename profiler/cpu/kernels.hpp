// The kernels of a training step on one CPU core. Products are OpenBLAS's; the rest are loops that
// the compiler turns into vector code (this room is built for it: see CMakeLists.txt). Matrices are
// row-major.
#pragma once

#include <cstddef>
#include <span>

#include "model/operation.hpp"
#include "profiler/cpu/bfloat16.hpp"
#include "profiler/cpu/half.hpp"
#include "profiler/engine/adamw.hpp"

namespace ddpx::cpu {

// See engine::Device::product for what a, b and c are in each pass.
void multiply(const Product& work, const float* a, const float* b, float* c);

void add_bias(std::span<float> rows, std::span<const float> bias, bool relu);
void relu_backward(std::span<float> gradient, std::span<const float> activation);
void sum_rows(std::span<const float> rows, std::span<float> sum);
// Each row's loss times `weight` is returned in sum; `gradient` is that of the logits. Labels are
// whole numbers below `classes`.
[[nodiscard]] float cross_entropy(std::span<const float> logits, std::span<const float> labels,
                                  float weight, std::span<float> gradient);
void copy_scaled(std::span<const float> from, float factor, std::span<float> to);
void add(std::span<const float> from, std::span<float> to);
// values *= factor, rounded once.
void scale(std::span<Half> values, float factor);
void scale(std::span<Bfloat16> values, float factor);
// parameters -= rate * gradients
void sgd(std::span<float> parameters, std::span<const float> gradients, float rate);
// Update number `t`, from 1, of fp32 state (engine/update.hpp).
struct AdamWState {
  std::span<float> parameters;
  std::span<const float> gradients;
  std::span<float> first;
  std::span<float> second;
};
void adamw(const AdamWState& state, const engine::AdamW& rule, double t);

}  // namespace ddpx::cpu
