#include "profiler/backends.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "profiler/engine/device.hpp"
#include "profiler/module.hpp"
#ifdef DDPX_HAS_MPI
#include "profiler/cpu/module.hpp"
#endif
#ifdef DDPX_HAS_CUDA
#include "profiler/cuda/module.hpp"
#endif

namespace ddpx {
namespace {

constexpr const char* kCpu = "cpu";
constexpr const char* kCuda = "cuda";

#ifdef DDPX_HAS_MPI
const Module& cpu_module() {
  static const Module kModule(cpu::kModuleFile);
  return kModule;
}
#endif

#ifdef DDPX_HAS_CUDA
const Module& cuda_module() {
  static const Module kModule(cuda::kModuleFile);
  return kModule;
}
#endif

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
#ifdef DDPX_HAS_CUDA
  names.emplace_back(kCuda);
#endif
#ifdef DDPX_HAS_MPI
  names.emplace_back(kCpu);
#endif
  return names;
}

int visible_gpus() {
#ifdef DDPX_HAS_CUDA
  if (!has_gpu_driver()) return 0;
  try {
    return cuda_module().symbol<decltype(cuda::ddpx_cuda_gpus)>("ddpx_cuda_gpus")();
  } catch (const DeviceError&) {
    return 0;  // a build for GPUs on a machine without CUDA's libraries
  }
#else
  return 0;
#endif
}

std::string backend_named(const std::string& word, std::string_view place) {
  const std::vector<std::string> names = backend_names();
  if (names.empty()) {
    throw InputError(place,
                     "this build can measure nothing: neither Open MPI and OpenBLAS nor CUDA and "
                     "NCCL were there when it was built; run ./setup.sh and build again, or fit "
                     "from files with --from");
  }
  if (word == "auto") {
    if (names.front() == kCuda && names.size() > 1 && visible_gpus() == 0) return names.back();
    return names.front();
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) return word;
  std::string accepted = "auto";
  for (const std::string& name : names) accepted += ", " + name;
  throw InputError(place, "'" + word + "' is no backend of this build; accepted: " + accepted);
}

Library library_of(const std::string& name) { return name == kCuda ? Library::nccl : Library::mpi; }

bool backend_supports(const std::string& name, [[maybe_unused]] const Operation& operation,
                      [[maybe_unused]] int ranks) {
#ifdef DDPX_HAS_MPI
  if (name == kCpu)
    return cpu_module().symbol<decltype(cpu::ddpx_cpu_supports)>("ddpx_cpu_supports")(operation,
                                                                                      ranks);
#endif
  if (name != kCuda) return false;
  // Which formats a GPU has is known on the GPU alone; a plan without one takes all.
  const auto* call = std::get_if<CollectiveCall>(&operation);
  return call == nullptr || (ranks > 1 && call->ranks == ranks && call->dtype != DType::tf32);
}

std::unique_ptr<Backend> make_backend(const std::string& name, [[maybe_unused]] Pulse& pulse,
                                      [[maybe_unused]] const BackendOptions& options) {
#ifdef DDPX_HAS_MPI
  if (name == kCpu) {
    return std::unique_ptr<Backend>(
        cpu_module().symbol<decltype(cpu::ddpx_cpu_backend)>("ddpx_cpu_backend")(pulse));
  }
#endif
#ifdef DDPX_HAS_CUDA
  if (name == kCuda) {
    return std::unique_ptr<Backend>(cuda_module().symbol<decltype(cuda::ddpx_cuda_backend)>(
        "ddpx_cuda_backend")(pulse, options));
  }
#endif
  throw DeviceError("backend " + name + ": is not in this build");
}

std::unique_ptr<engine::Device> make_device(const std::string& name,
                                            [[maybe_unused]] Pulse& pulse) {
#ifdef DDPX_HAS_MPI
  if (name == kCpu) {
    return std::unique_ptr<engine::Device>(
        cpu_module().symbol<decltype(cpu::ddpx_cpu_device)>("ddpx_cpu_device")(pulse));
  }
#endif
#ifdef DDPX_HAS_CUDA
  if (name == kCuda) {
    return std::unique_ptr<engine::Device>(
        cuda_module().symbol<decltype(cuda::ddpx_cuda_device)>("ddpx_cuda_device")(pulse));
  }
#endif
  throw DeviceError("device " + name + ": is not in this build");
}

}  // namespace ddpx
