// Channels, algorithm and protocol as NCCL itself reports them, read from its log with
// NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,TUNING,ENV (docs.nvidia.com/deeplearning/nccl,
// "Environment Variables"; the lines are those of src/init.cc, src/enqueue.cc and
// src/transport/*.cc). A kernel's name does not tell the algorithm: one entry kernel serves
// several.
//
// The log of several ranks is one stream: lines come with prefixes of mpirun, torchrun and NCCL,
// one line may hold two messages, and the last may be cut. What does not read as one whole message
// is skipped; nothing is guessed from half of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/operation.hpp"

namespace ddpx::cuda {

// How NCCL ran one size of a collective. Only rank 0 reports it.
struct NcclChoice {
  std::optional<Collective> collective;  // versions before names were written do not say
  // As NCCL counts. Versions that write names: count x type size, for all-gather and reduce-scatter
  // one rank's part; earlier ones the whole (read in src/enqueue.cc, not checked on a device).
  double bytes = 0;
  std::string algorithm;        // "RING", "TREE", "NVLS", ...; "SYMMETRIC" for those kernels
  std::string protocol;         // "LL", "LL128", "SIMPLE"; the kernel's name for symmetric ones
  std::optional<int> channels;  // that carry it; old versions do not say
};

struct NcclLog {
  std::optional<std::string> version;  // "2.28.9"
  // Of the communicator set up last.
  std::optional<int> channels;
  std::optional<int> nvls_channels;
  // "P2P/CUMEM", "SHM/direct", "NET/Socket" with the connections that use each.
  std::vector<std::pair<std::string, int>> transports;
  std::vector<std::pair<std::string, std::string>> switches;  // what the environment set
  std::vector<NcclChoice> choices;    // the last of each collective and size, by size
  std::vector<std::string> warnings;  // distinct, at most kMostWarnings

  static constexpr std::size_t kMostWarnings = 20;

  [[nodiscard]] const NcclChoice* find(Collective collective, double bytes) const;
};

[[nodiscard]] NcclLog read_nccl_log(std::string_view text);

}  // namespace ddpx::cuda
