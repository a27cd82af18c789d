#include "profiler/cuda/system.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace ddpx::cuda {
namespace {

// Looking costs the host a microsecond or so; a peer that is gone is noticed within one pause.
constexpr int kLooksAtOnce = 2000;
constexpr std::chrono::microseconds kPause{200};

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::string(text) == "1";
}

bool peers_reach_each_other(int gpus) {
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      int can = 1;
      if (a != b) check(cudaDeviceCanAccessPeer(&can, a, b), "asking for peer access");
      if (can == 0) return false;
    }
  }
  return true;
}

}  // namespace

RankPlace own_place() { return rank_place().value_or(RankPlace{}); }

Hardware describe(const Gpu& gpu, Communicator& communicator, const RankPlace& place) {
  Hardware hardware;
  hardware.device = gpu.device();
  hardware.ranks = communicator.ranks();
  hardware.context = gpu.context();
  const auto nccl = Communicator::context();
  hardware.context.insert(hardware.context.end(), nccl.begin(), nccl.end());
  if (hardware.ranks == 1) return hardware;
  LinkDescription link;
  const bool one_host = place.ranks_on_host == place.ranks;
  if (!one_host || is_set("NCCL_SHM_DISABLE")) {
    link.name = "tcp";
    link.title = one_host ? "TCP over loopback" : "between hosts";
    link.topology = Topology::network;
  } else if (is_set("NCCL_P2P_DISABLE") || !peers_reach_each_other(place.ranks_on_host)) {
    link.name = "host-memory";
    link.title = "through host memory";
    link.topology = Topology::host_memory;
  } else {
    link.name = "nvlink";
    link.title = "between GPUs";
    link.topology = Topology::nvlink;
  }
  link.source = "measured by ddpx-calibrate";
  hardware.link = link;
  return hardware;
}

void run_dry(const Gpu& gpu, const Communicator& communicator, Pulse& pulse) {
  for (cudaStream_t stream : {gpu.compute(), gpu.communication()}) {
    for (int looks = 0;; ++looks) {
      const cudaError_t status = cudaStreamQuery(stream);
      if (status == cudaSuccess) break;
      if (status != cudaErrorNotReady) check(status, "work on the GPU");
      static_cast<void>(cudaGetLastError());
      if (looks < kLooksAtOnce) continue;
      communicator.check_peers();
      std::this_thread::sleep_for(kPause);
    }
    pulse.tick();
  }
}

}  // namespace ddpx::cuda
