// What kernels of matrix products cost, in a machine file: {"pass": "forward", "dtype": "fp32",
// "launch_s": 3e-6, ..., "error": 0.08}
#pragma once

#include <vector>

#include "io/json_reader.hpp"
#include "model/kernel_costs.hpp"

namespace ddpx::io {

[[nodiscard]] std::vector<KernelCosts> kernel_costs_of(const Reader& list);
[[nodiscard]] JsonArray kernel_costs_json(const std::vector<KernelCosts>& all);

}  // namespace ddpx::io
