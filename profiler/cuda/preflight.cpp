#include "profiler/cuda/preflight.hpp"

#include <algorithm>
#include <cmath>

namespace ddpx::cuda {
namespace {

// Channels that NCCL opened over host memory: 4 on two H200 (docs/results), 2 on PCIe 3.
constexpr int kUsualShmChannels = 4;
// From this NCCL with this driver on, host buffers come from the driver and /dev/shm is used only
// where the container forbids that (NCCL src/misc/cudawrap.cc, ncclCuMemHostEnable).
constexpr int kNcclWithHostAllocations = 22400;
constexpr int kDriverWithHostAllocations = 12060;

std::string megabytes(double bytes) {
  return std::to_string(static_cast<long long>(std::ceil(bytes / 1e6))) + " MB";
}

std::string nccl_version(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string cuda_version(int code) {
  return std::to_string(code / 1000) + "." + std::to_string(code / 10 % 100);
}

class Findings {
 public:
  void warn(std::string cause, std::string value, std::string remedy) {
    add(Severity::warning, std::move(cause), std::move(value), std::move(remedy));
  }
  void fail(std::string cause, std::string value, std::string remedy) {
    add(Severity::fatal, std::move(cause), std::move(value), std::move(remedy));
  }
  void add(Severity severity, std::string cause, std::string value, std::string remedy) {
    list_.push_back({severity, std::move(cause), std::move(value), std::move(remedy)});
  }
  std::vector<Finding> sorted() && {
    std::stable_partition(list_.begin(), list_.end(), [](const Finding& finding) {
      return finding.severity == Severity::fatal;
    });
    return std::move(list_);
  }

 private:
  std::vector<Finding> list_;
};

void check_gpus(const PreflightFacts& facts, Findings& findings) {
  if (facts.gpus_visible >= facts.ranks) return;
  std::string value = std::to_string(facts.gpus_visible) + " visible for " +
                      std::to_string(facts.ranks) + (facts.ranks == 1 ? " rank" : " ranks");
  if (facts.visible_devices) value += ", CUDA_VISIBLE_DEVICES=" + *facts.visible_devices;
  const std::string remedy =
      facts.gpus_visible == 0
          ? "check nvidia-smi; in a container, start it with --gpus all"
          : "use --ranks " + std::to_string(facts.gpus_visible) + ", or make more GPUs visible";
  findings.fail("fewer GPUs than asked", value, remedy);
}

void check_shared_memory(const PreflightFacts& facts, Findings& findings) {
  if (facts.transport != Transport::shared_memory || facts.ranks < 2 || !facts.shm_free_bytes)
    return;
  const int channels = facts.channels.value_or(kUsualShmChannels);
  const double needed = shm_bytes_needed(facts.ranks, channels);
  if (*facts.shm_free_bytes >= needed) return;
  const bool may_do_without = facts.nccl_library >= kNcclWithHostAllocations &&
                              facts.cuda_driver >= kDriverWithHostAllocations;
  const bool hopeless = *facts.shm_free_bytes < shm_bytes_needed(facts.ranks, 1);
  findings.add(hopeless && !may_do_without ? Severity::fatal : Severity::warning,
               "/dev/shm is too small",
               megabytes(*facts.shm_free_bytes) + " free, NCCL takes up to " + megabytes(needed) +
                   " for " + std::to_string(facts.ranks) + " ranks on " + std::to_string(channels) +
                   (channels == 1 ? " channel" : " channels"),
               "start the container with --shm-size=1g (Kubernetes: an emptyDir of medium Memory "
               "on /dev/shm), or remove what is left there");
}

void check_versions(const PreflightFacts& facts, Findings& findings) {
  if (facts.nccl_header > 0 && facts.nccl_library > 0 && facts.nccl_header != facts.nccl_library) {
    const bool older = facts.nccl_library < facts.nccl_header;
    findings.add(facts.nccl_library / 10000 != facts.nccl_header / 10000 ? Severity::fatal
                                                                         : Severity::warning,
                 older ? "NCCL is older than the one built with" : "NCCL is not the one built with",
                 "loaded " + nccl_version(facts.nccl_library) + ", built with " +
                     nccl_version(facts.nccl_header),
                 "set LD_LIBRARY_PATH to the NCCL you mean, or rebuild with NCCL_HOME naming it");
  }
  if (facts.cuda_runtime > 0 && facts.cuda_driver > 0 && facts.cuda_driver < facts.cuda_runtime) {
    // Within one major version an older driver runs what was compiled for the GPU, but compiles no
    // PTX (NVIDIA, "CUDA Compatibility").
    findings.add(
        facts.cuda_driver / 1000 < facts.cuda_runtime / 1000 ? Severity::fatal : Severity::warning,
        "the driver is older than CUDA",
        "driver for CUDA " + cuda_version(facts.cuda_driver) + ", program of CUDA " +
            cuda_version(facts.cuda_runtime),
        "update the driver, or build with CUDA " + cuda_version(facts.cuda_driver));
  }
}

void check_load(const PreflightFacts& facts, std::size_t rank, Findings& findings) {
  const GpuLoad& load = facts.loads[rank];
  const std::string gpu = "GPU " + std::to_string(rank);
  if (load.mig.value_or(false)) {
    findings.add(facts.ranks > 1 ? Severity::fatal : Severity::warning, "MIG is on",
                 gpu + " is cut into instances, which NCCL cannot join",
                 facts.ranks > 1 ? "switch it off (nvidia-smi -mig 0, by an administrator), or use "
                                   "--ranks 1 on one instance"
                                 : "what is measured holds for this instance only");
  }
  constexpr int kIdlePercent = 5;
  constexpr double kIdleBytes = 2e9;  // a driver reserves some 0.5 GB of an H200
  std::string busy;
  const auto note = [&busy](const std::string& words) {
    busy += (busy.empty() ? "" : ", ") + words;
  };
  if (load.processes.value_or(0) > 0)
    note(std::to_string(*load.processes) + (*load.processes == 1 ? " process" : " processes"));
  if (load.utilization_percent.value_or(0) > kIdlePercent)
    note(std::to_string(*load.utilization_percent) + " % busy");
  if (load.memory && load.memory->used_bytes > kIdleBytes)
    note(megabytes(load.memory->used_bytes) + " in use");
  if (busy.empty()) return;
  findings.warn("a GPU is in use already", gpu + ": " + busy,
                "stop the other program (nvidia-smi names it), or choose other GPUs with "
                "CUDA_VISIBLE_DEVICES; timings beside it are not this machine's");
}

void check_pairs(const PreflightFacts& facts, Findings& findings) {
  const bool direct =
      facts.transport == Transport::automatic || facts.transport == Transport::peer_to_peer;
  if (!direct || facts.blocked_pairs.empty()) return;
  const BlockedPair& first = facts.blocked_pairs.front();
  std::string value = "GPUs " + std::to_string(first.first) + " and " +
                      std::to_string(first.second) + ": " + first.obstacle;
  const std::size_t more = facts.blocked_pairs.size() - 1;
  if (more > 0)
    value += " (and " + std::to_string(more) + (more == 1 ? " more pair)" : " more pairs)");
  findings.warn("P2P is blocked", value,
                "NCCL goes through host memory, which --transport shm measures by its name; on a "
                "server card look at ACS and IOMMU");
}

void check_switches(const PreflightFacts& facts, Findings& findings) {
  if (facts.cores && *facts.cores < facts.ranks) {
    findings.warn("ranks share a core",
                  std::to_string(*facts.cores) + (*facts.cores == 1 ? " core" : " cores") +
                      " allowed for " + std::to_string(facts.ranks) + " ranks",
                  "widen the affinity mask (taskset, srun --cpus-per-task, docker --cpuset-cpus)");
  }
  if (facts.nvls) {
    findings.warn("NVLS is on", "NCCL_NVLS_ENABLE asks for reductions in the switch",
                  "unset it for links as this program compares them; the file says that it was on");
  }
}

}  // namespace

double shm_bytes_needed(int ranks, int channels) {
  const int neighbours = ranks > 2 ? 2 : ranks - 1;
  return kShmBytesPerConnection * ranks * neighbours * channels;
}

std::vector<Finding> preflight(const PreflightFacts& facts) {
  Findings findings;
  check_gpus(facts, findings);
  check_shared_memory(facts, findings);
  check_versions(facts, findings);
  for (std::size_t rank = 0; rank < facts.loads.size(); ++rank) check_load(facts, rank, findings);
  check_pairs(facts, findings);
  check_switches(facts, findings);
  return std::move(findings).sorted();
}

}  // namespace ddpx::cuda
