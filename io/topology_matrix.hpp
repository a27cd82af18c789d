// What `nvidia-smi topo -m` prints: how the GPUs of one host reach each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpx::io {

struct TopologyMatrix {
  std::vector<std::string> gpus;                // "GPU0", ...
  std::vector<std::vector<std::string>> paths;  // "X", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"
  std::size_t nics = 0;
};

[[nodiscard]] bool looks_like_topology_matrix(std::string_view text);

// Throws InputError for a matrix that is cut, not square or not symmetric, and for a path that
// nvidia-smi does not print.
[[nodiscard]] TopologyMatrix read_topology_matrix(std::string_view text, std::string_view place);

}  // namespace ddpx::io
