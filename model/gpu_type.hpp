// GPUs by name: the vendor's rates and what of them programs reach, to carry compute from a GPU
// that was measured to one that was not.
//
// A training step is part products, part memory traffic, and no two networks have the same parts.
// Throughput is carried by compute ratio^0.4 x memory ratio^0.6, which over public pairs of the
// same network, batch and precision on two GPUs is 14 % off in the median (docs/results/links.md);
// the interval is as wide as that table's spread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/machine.hpp"

namespace ddpx {

struct GpuType {
  std::string_view name;    // "a100-sxm"
  std::string_view title;   // "NVIDIA A100 SXM4 80 GB"
  std::string_view device;  // how drivers call it, a part that no other type has: "A100-SXM"
  // Dense peaks in TFLOP/s; `half` is fp16 and bf16 with fp32 accumulation.
  double fp32 = 0;
  double tf32 = 0;  // 0: no such products
  double half = 0;
  double memory_gb_per_s = 0;
  int multiprocessors = 0;
  int compute_capability = 0;
  double memory_gib = 0;
  std::string_view nvlink;  // name in the table of interconnects; empty for none
  std::string_view pcie;
};

[[nodiscard]] std::span<const GpuType> gpu_types();
// By name; nullptr for an unknown one.
[[nodiscard]] const GpuType* find_gpu_type(std::string_view name);
// The type a machine's device is; nullptr when it is none of them.
[[nodiscard]] const GpuType* gpu_type_of(const Device& device);

// One standard error of a carried step, in logarithms.
inline constexpr double kGpuCarryError = 0.24;

// Step time on `to` over step time on `from`.
[[nodiscard]] double step_ratio(const GpuType& from, const GpuType& to, DType dtype);

// A machine from the datasheet alone, at the shares of its peaks that programs reach.
[[nodiscard]] Machine machine_of(const GpuType& type);

// `machine` with its compute and memory carried to `to`; links, clocks and timed steps, which
// belong to the box that was measured, are left out. Throws InputError when its own device is no
// known type.
[[nodiscard]] Machine carried_to(const Machine& machine, const GpuType& to);

}  // namespace ddpx
