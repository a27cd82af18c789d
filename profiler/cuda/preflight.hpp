// What is wrong with a box before anything is measured on it, in one line each: the cause, the
// value found, the remedy. Without it the user meets NCCL's "unhandled system error" or, worse,
// numbers of a GPU that somebody else was using.
//
// The judgement is a pure function of facts; the facts of the operating system and of NVML are
// gathered below, those of CUDA and NCCL are the caller's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/cuda/nvml.hpp"
#include "profiler/launch_environment.hpp"

namespace ddpx::cuda {

struct GpuLoad {
  std::optional<bool> mig;
  std::optional<int> processes;
  std::optional<int> utilization_percent;
  std::optional<GpuMemory> memory;
};

struct BlockedPair {
  int first = 0;
  int second = 0;
  std::string obstacle;
};

struct PreflightFacts {
  int ranks = 1;  // of this host: one GPU each
  int gpus_visible = 0;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES, where it is set
  Transport transport = Transport::automatic;
  std::optional<int> channels;  // NCCL's, where they are known; else what is usual
  std::optional<double> shm_free_bytes;
  int nccl_header = 0;  // 22809 as NCCL counts; 0: not used
  int nccl_library = 0;
  int cuda_runtime = 0;        // 13000 as CUDA counts; 0: not known
  int cuda_driver = 0;         // the newest CUDA of the driver
  std::vector<GpuLoad> loads;  // by rank, before this program used the GPUs
  std::vector<BlockedPair> blocked_pairs;
  std::optional<int> cores;  // this process may run on
  bool nvls = false;         // NCCL_NVLS_ENABLE asks for it
};

enum class Severity { warning, fatal };

struct Finding {
  Severity severity = Severity::warning;
  std::string cause;   // "/dev/shm is too small"
  std::string value;   // "16 MB free, NCCL needs 77 MB ..."
  std::string remedy;  // "start the container with --shm-size=1g"

  [[nodiscard]] std::string line() const { return cause + ": " + value + "; " + remedy; }
};

// Fatal ones first.
[[nodiscard]] std::vector<Finding> preflight(const PreflightFacts& facts);

// One connection of NCCL's shared-memory transport, per channel and receiving rank: buffers of
// 4 MiB (Simple), 512 KiB (LL) and 4,915,200 B (LL128) and a page of counters (NCCL src/init.cc,
// NCCL_BUFFSIZE and the like at their defaults). It is the size of the segment that NCCL names when
// it fails: "nccl-shm-recv-... (size 9637888)" (https://github.com/NVIDIA/nccl/issues/290).
inline constexpr double kShmBytesPerConnection = 9637888;

// Of /dev/shm for `ranks` of one host: every rank receives from one other (two ranks) or, as ring
// and tree do, from two.
[[nodiscard]] double shm_bytes_needed(int ranks, int channels);

// Free bytes of `folder`'s file system; nullopt where there is none.
[[nodiscard]] std::optional<double> free_bytes(const std::string& folder = "/dev/shm");
// Cores that this process is allowed to use.
[[nodiscard]] std::optional<int> allowed_cores();
[[nodiscard]] std::vector<GpuLoad> gather_loads(const Nvml& nvml,
                                                const std::vector<std::string>& bus_ids);

}  // namespace ddpx::cuda
