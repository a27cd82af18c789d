#include "profiler/cuda/system.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/error.hpp"
#include "profiler/cuda/check.hpp"
#include "profiler/cuda/communicator.hpp"
#include "profiler/cuda/preflight.hpp"
#include "profiler/cuda/topology.hpp"

namespace ddpx::cuda {
namespace {

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::string_view(text) != "0" && *text != '\0';
}

std::optional<std::string> text_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return text;
}

int visible_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  static_cast<void>(cudaGetLastError());
  return count;
}

std::vector<std::string> bus_ids_of(int gpus) {
  std::vector<std::string> ids;
  for (int i = 0; i < gpus; ++i) {
    std::array<char, 32> id{};
    check(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), i),
          "reading a GPU's bus id");
    ids.emplace_back(id.data());
  }
  return ids;
}

// What NCCL was told: by the launcher's switches, which a user may set as well.
Transport transport_in_use() {
  if (is_set("NCCL_SHM_DISABLE")) return Transport::socket;
  if (is_set("NCCL_P2P_DISABLE")) return Transport::shared_memory;
  return Transport::automatic;
}

std::vector<BlockedPair> blocked_pairs(int gpus) {
  std::vector<BlockedPair> blocked;
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) {
      int can = 0;
      check(cudaDeviceCanAccessPeer(&can, a, b), "asking for peer access");
      if (can == 0) blocked.push_back({a, b, "CUDA grants no peer access"});
    }
  }
  return blocked;
}

Box box_of(int gpus, int compute_capability) {
  if (!driver()) return {};
  GatherOptions options;
  options.bus_ids = bus_ids_of(gpus);
  options.compute_capabilities.assign(static_cast<std::size_t>(gpus), compute_capability);
  return describe_box(gather_box(*driver(), options));
}

// The names links have in machine files and rows; what exactly they are stands beside.
const char* usual_name(Topology topology) {
  switch (topology) {
    case Topology::nvlink:
      return "nvlink";
    case Topology::pcie_host:
    case Topology::host_memory:
      return "host-memory";
    case Topology::network:
      return "tcp";
    default:
      return "pcie";
  }
}

LinkDescription link_between(const Box& box, const RankPlace& place) {
  LinkDescription link;
  const bool one_host = place.ranks_on_host == place.ranks;
  const Transport transport = transport_in_use();
  if (!one_host || transport == Transport::socket) {
    link.title = one_host ? "TCP over loopback" : "network between hosts";
    link.topology = Topology::network;
  } else {
    const bool direct =
        transport == Transport::automatic && blocked_pairs(place.ranks_on_host).empty();
    link = link_of(box, direct ? Route::direct : Route::host_memory).value_or(LinkDescription{});
    if (!direct || link.topology != Topology::nvlink)
      link.topology = direct ? Topology::pcie : Topology::pcie_host;
  }
  link.name = usual_name(link.topology);
  link.source = "measured by ddpx-calibrate";
  return link;
}

}  // namespace

const std::optional<Nvml>& driver() {
  static const std::optional<Nvml> kLoaded = []() -> std::optional<Nvml> {
    auto loaded = Nvml::load();
    if (auto* library = std::get_if<Nvml>(&loaded)) return *library;
    return std::nullopt;
  }();
  return kLoaded;
}

std::vector<std::string> look_before(const RankPlace& place) {
  PreflightFacts facts;
  facts.ranks = place.ranks_on_host;
  facts.gpus_visible = visible_gpus();
  facts.visible_devices = text_of("CUDA_VISIBLE_DEVICES");
  facts.transport = transport_in_use();
  facts.shm_free_bytes = free_bytes();
  if (place.ranks > 1) {
    facts.nccl_header = NCCL_VERSION_CODE;
    check(ncclGetVersion(&facts.nccl_library), "reading NCCL's version");
  }
  check(cudaRuntimeGetVersion(&facts.cuda_runtime), "reading CUDA's version");
  check(cudaDriverGetVersion(&facts.cuda_driver), "reading the driver's version");
  const int gpus = std::min(place.ranks_on_host, facts.gpus_visible);
  if (driver()) facts.loads = gather_loads(*driver(), bus_ids_of(gpus));
  facts.blocked_pairs = blocked_pairs(gpus);
  facts.cores = allowed_cores();
  facts.nvls = text_of("NCCL_NVLS_ENABLE").value_or("0") != "0";
  std::vector<std::string> warnings;
  for (const Finding& finding : preflight(facts)) {
    if (finding.severity == Severity::fatal) throw DeviceError("pre-flight: " + finding.line());
    warnings.push_back(finding.line());
  }
  return warnings;
}

Hardware describe(const Gpu& gpu, const RankPlace& place) {
  Hardware hardware;
  hardware.device = gpu.device();
  hardware.ranks = place.ranks;
  hardware.context = gpu.context();
  if (driver()) {
    if (const auto version = driver()->driver_version())
      hardware.context.emplace_back("driver", *version);
  }
  const Box box = box_of(place.ranks_on_host, hardware.device.compute_capability);
  for (auto& entry : context_of(box)) hardware.context.push_back(std::move(entry));
  if (const std::string family = nvlink_family(box); !family.empty())
    hardware.device.nvlink_generation = family;
  if (const std::string family = pcie_family(box); !family.empty())
    hardware.device.pcie_generation = family;
  if (hardware.ranks == 1) return hardware;
  for (auto& entry : Communicator::context()) hardware.context.push_back(std::move(entry));
  hardware.link = link_between(box, place);
  return hardware;
}

}  // namespace ddpx::cuda
