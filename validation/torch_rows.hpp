// Training with PyTorch, for --run-torch: its rows are handed to python3 -m ddpx_torch run
// (torch/), which starts the ranks, says in its own words what went wrong, and writes the runs
// file.
#pragma once

#include <string>

#include "validation/options.hpp"

namespace ddpx {

struct TorchRuns {
  int exit_code = 0;  // as of the programs; above 0 it has said why
  std::string path;   // the runs file
};

// Throws InputError for what can be known without PyTorch, and DeviceError when python3 cannot be
// started or is killed.
[[nodiscard]] TorchRuns measure_torch_rows(const ValidateOptions& options);

}  // namespace ddpx
