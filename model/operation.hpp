// An Operation says *what work* is done, never how long it takes: the profiler measures it, the
// model prices it, validation compares the two. Sizes follow the conventions of the field:
//  - a product is one linear layer's matrix product for `rows` samples (batch x tokens), in -> out
//    features: 2*rows*in*out flops in every direction;
//  - a collective's `bytes` follow nccl-tests: all-reduce counts the buffer of one rank, all-gather
//    and reduce-scatter count the whole (N shards). Bus bandwidth = bytes/time x 2(N-1)/N for
//    all-reduce and x (N-1)/N for the others (nccl-tests doc/PERFORMANCE.md).
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "model/units.hpp"

namespace ddpx {

enum class DType { fp32, tf32, bf16, fp16 };
// Kept in 16 bits: its products are autocast's.
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::fp16;
}
enum class Pass { forward, data_gradient, weight_gradient };
enum class Collective { all_reduce, all_gather, reduce_scatter };
enum class Optimizer { sgd, adamw };

struct Product {
  Pass pass = Pass::forward;
  DType dtype = DType::fp32;
  double rows = 0;
  double in = 0;
  double out = 0;

  [[nodiscard]] Flops flops() const { return Flops(2.0 * rows * in * out); }
  // Memory traffic with both operands and the result moved once.
  [[nodiscard]] Bytes bytes() const;
};

struct CollectiveCall {
  Collective kind = Collective::all_reduce;
  DType dtype = DType::fp32;
  Bytes bytes{};
  int ranks = 2;
  bool rested = false;  // the link was idle before it for about as long as it takes
};

// A device-to-device copy of `bytes`: it reads and writes each, so it moves 2 x bytes of memory
// traffic.
struct Copy {
  Bytes bytes{};
};

struct OptimizerStep {
  Optimizer optimizer = Optimizer::sgd;
  double parameters = 0;
};

// What a layer does between its products, over rows x columns activations: bias and ReLU in one
// kernel, ReLU's gradient, and the bias's gradient (sums over rows).
enum class RowKernel { bias_relu, relu_gradient, bias_gradient };

struct Elementwise {
  RowKernel kernel = RowKernel::bias_relu;
  DType dtype = DType::fp32;
  double rows = 0;
  double columns = 0;

  // Memory traffic as the model counts it (network.cpp): activations are read and written; ReLU's
  // gradient reads the activation too; the bias's reads alone.
  [[nodiscard]] Bytes bytes() const;
};

struct Launch {};

using Operation = std::variant<Product, CollectiveCall, Copy, OptimizerStep, Launch, Elementwise>;

[[nodiscard]] std::string_view name(DType dtype);
[[nodiscard]] std::string_view name(Pass pass);
[[nodiscard]] std::string_view name(Collective kind);
[[nodiscard]] std::string_view name(Optimizer optimizer);
[[nodiscard]] std::string_view name(RowKernel kernel);

// The inverse of name(); nullopt for an unknown word.
[[nodiscard]] std::optional<DType> dtype_from(std::string_view word);
[[nodiscard]] std::optional<Pass> pass_from(std::string_view word);
[[nodiscard]] std::optional<Collective> collective_from(std::string_view word);
[[nodiscard]] std::optional<Optimizer> optimizer_from(std::string_view word);
[[nodiscard]] std::optional<RowKernel> row_kernel_from(std::string_view word);

// Bytes of one gradient element. tf32 is a product format: its tensors stay fp32.
[[nodiscard]] double element_bytes(DType dtype);

// Memory traffic of the update per parameter, all state in fp32: SGD reads parameter and gradient
// and writes the parameter (12 B); AdamW also reads and writes two moments (28 B).
[[nodiscard]] Bytes optimizer_traffic(Optimizer optimizer, double parameters);

// Bus bandwidth's share of bytes/time: 2(N-1)/N for all-reduce, (N-1)/N otherwise; 0 for one rank.
[[nodiscard]] double bus_factor(Collective kind, int ranks);

}  // namespace ddpx
