#include "profiler/cpu/kernels.hpp"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ddpx::cpu {
namespace {

// exp for arguments up to 0, to two units in the last place, in operations that vectorise: e^x =
// 2^n e^r with |r| <= ln(2)/2, and e^r by its Taylor polynomial of degree 7 (remainder below
// 2^-27). The standard library's would be a tenth of a narrow network's step.
inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // nine bits: n times it is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRounder =
      12582912.0F;          // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  x = std::max(x, -87.0F);  // e^-87 is the last normal number
  const float rounded = x * kLog2E + kRounder;
  const float n = rounded - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040;
  for (const float coefficient : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    p = p * r + coefficient;
  const auto exponent = std::bit_cast<std::uint32_t>(rounded) << 23U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
}

}  // namespace

void multiply(const Product& work, const float* a, const float* b, float* c) {
  const auto rows = static_cast<int>(work.rows);
  const auto in = static_cast<int>(work.in);
  const auto out = static_cast<int>(work.out);
  switch (work.pass) {
    case Pass::forward:
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1, a, in, b, in, 0, c,
                  out);
      return;
    case Pass::data_gradient:
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1, a, out, b, in, 0, c,
                  in);
      return;
    case Pass::weight_gradient:
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1, a, out, b, in, 0, c,
                  in);
      return;
  }
}

void add_bias(std::span<float> rows, std::span<const float> bias, bool relu) {
  const float floor = relu ? 0.0F : -HUGE_VALF;
  for (std::size_t begin = 0; begin < rows.size(); begin += bias.size()) {
    float* row = rows.data() + begin;
    for (std::size_t i = 0; i < bias.size(); ++i) row[i] = std::max(row[i] + bias[i], floor);
  }
}

void relu_backward(std::span<float> gradient, std::span<const float> activation) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = activation[i] > 0.0F ? gradient[i] : 0.0F;
}

void sum_rows(std::span<const float> rows, std::span<float> sum) {
  std::ranges::fill(sum, 0.0F);
  for (std::size_t begin = 0; begin < rows.size(); begin += sum.size())
    add(rows.subspan(begin, sum.size()), sum);
}

float cross_entropy(std::span<const float> logits, std::span<const float> labels, float weight,
                    std::span<float> gradient) {
  const std::size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const std::span<const float> row = logits.subspan(r * classes, classes);
    const std::span<float> out = gradient.subspan(r * classes, classes);
    const float largest = *std::ranges::max_element(row);
    for (std::size_t i = 0; i < classes; ++i) out[i] = exp_of(row[i] - largest);
    float total = 0;
    for (const float value : out) total += value;
    const float factor = weight / total;
    for (float& value : out) value *= factor;
    const auto label = static_cast<std::size_t>(labels[r]);
    out[label] -= weight;
    loss += static_cast<double>(std::log(total) - (row[label] - largest));
  }
  return static_cast<float>(loss * static_cast<double>(weight));
}

void copy_scaled(std::span<const float> from, float factor, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = factor * from[i];
}

void add(std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void scale(std::span<Half> values, float factor) {
  // In pieces, so that the processor's conversions of whole arrays do the work.
  std::array<float, 1024> piece;
  for (std::size_t begin = 0; begin < values.size(); begin += piece.size()) {
    const auto part = values.subspan(begin, std::min(piece.size(), values.size() - begin));
    const auto wide = std::span(piece).first(part.size());
    to_float(part, wide);
    copy_scaled(wide, factor, wide);
    to_half(wide, part);
  }
}

void scale(std::span<Bfloat16> values, float factor) {
  for (Bfloat16& value : values) value = to_bfloat16(to_float(value) * factor);
}

void sgd(std::span<float> parameters, std::span<const float> gradients, float rate) {
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * gradients[i];
}

void adamw(const AdamWState& state, const engine::AdamW& rule, double t) {
  const auto kept = static_cast<float>(1 - rule.rate * rule.weight_decay);
  const auto rate = static_cast<float>(rule.rate / (1 - std::pow(rule.first_decay, t)));
  const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(rule.second_decay, t)));
  const auto first_share = static_cast<float>(1 - rule.first_decay);
  const auto second_decay = static_cast<float>(rule.second_decay);
  const auto second_share = static_cast<float>(1 - rule.second_decay);
  const auto epsilon = static_cast<float>(rule.epsilon);
  // Plain pointers: four arrays that the compiler is told not to overlap become vector code.
  const std::size_t n = state.parameters.size();
  float* __restrict p = state.parameters.data();
  const float* __restrict g = state.gradients.data();
  float* __restrict m = state.first.data();
  float* __restrict v = state.second.data();
  for (std::size_t i = 0; i < n; ++i) {
    m[i] += first_share * (g[i] - m[i]);
    v[i] = second_decay * v[i] + second_share * g[i] * g[i];
    p[i] = kept * p[i] - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
  }
}

}  // namespace ddpx::cpu
