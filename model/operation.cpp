#include "model/operation.hpp"

#include <array>
#include <utility>

namespace ddpx {
namespace {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<DType, 4> kDTypes{
    {{DType::fp32, "fp32"}, {DType::tf32, "tf32"}, {DType::bf16, "bf16"}, {DType::fp16, "fp16"}}};
constexpr Names<Pass, 3> kPasses{{{Pass::forward, "forward"},
                                  {Pass::data_gradient, "data_gradient"},
                                  {Pass::weight_gradient, "weight_gradient"}}};
constexpr Names<Collective, 3> kCollectives{{{Collective::all_reduce, "all_reduce"},
                                             {Collective::all_gather, "all_gather"},
                                             {Collective::reduce_scatter, "reduce_scatter"}}};
constexpr Names<RowKernel, 3> kRowKernels{{{RowKernel::bias_relu, "bias_relu"},
                                           {RowKernel::relu_gradient, "relu_gradient"},
                                           {RowKernel::bias_gradient, "bias_gradient"}}};
constexpr Names<Optimizer, 2> kOptimizers{{{Optimizer::sgd, "sgd"}, {Optimizer::adamw, "adamw"}}};

template <class Enum, std::size_t N>
std::string_view find_name(const Names<Enum, N>& names, Enum value) {
  for (const auto& [candidate, word] : names) {
    if (candidate == value) return word;
  }
  return "?";
}

template <class Enum, std::size_t N>
std::optional<Enum> find_value(const Names<Enum, N>& names, std::string_view word) {
  for (const auto& [value, candidate] : names) {
    if (candidate == word) return value;
  }
  return std::nullopt;
}

}  // namespace

Bytes Product::bytes() const {
  return Bytes(element_bytes(dtype) * (rows * in + in * out + rows * out));
}

Bytes Elementwise::bytes() const {
  const double passes = kernel == RowKernel::bias_relu       ? 2
                        : kernel == RowKernel::relu_gradient ? 3
                                                             : 1;
  return Bytes(passes * element_bytes(dtype) * rows * columns);
}

std::string_view name(DType dtype) { return find_name(kDTypes, dtype); }
std::string_view name(Pass pass) { return find_name(kPasses, pass); }
std::string_view name(Collective kind) { return find_name(kCollectives, kind); }
std::string_view name(Optimizer optimizer) { return find_name(kOptimizers, optimizer); }

std::string_view name(RowKernel kernel) { return find_name(kRowKernels, kernel); }

std::optional<DType> dtype_from(std::string_view word) { return find_value(kDTypes, word); }
std::optional<Pass> pass_from(std::string_view word) { return find_value(kPasses, word); }
std::optional<Collective> collective_from(std::string_view word) {
  return find_value(kCollectives, word);
}
std::optional<Optimizer> optimizer_from(std::string_view word) {
  return find_value(kOptimizers, word);
}

std::optional<RowKernel> row_kernel_from(std::string_view word) {
  return find_value(kRowKernels, word);
}

double element_bytes(DType dtype) { return is_half(dtype) ? 2.0 : 4.0; }

Bytes optimizer_traffic(Optimizer optimizer, double parameters) {
  return Bytes((optimizer == Optimizer::adamw ? 28.0 : 12.0) * parameters);
}

double bus_factor(Collective kind, int ranks) {
  if (ranks < 2) return 0.0;
  const double share = static_cast<double>(ranks - 1) / ranks;
  return kind == Collective::all_reduce ? 2.0 * share : share;
}

}  // namespace ddpx
