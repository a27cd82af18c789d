#include "profiler/backends.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "profiler/engine/device.hpp"
#ifdef DDPX_HAS_MPI
#include "profiler/cpu/backend.hpp"
#include "profiler/cpu/device.hpp"
#include "profiler/cpu/workload.hpp"
#endif

namespace ddpx {

std::vector<std::string> backend_names() {
#ifdef DDPX_HAS_MPI
  return {"cpu"};
#else
  return {};
#endif
}

std::string backend_named(const std::string& word, std::string_view place) {
  const std::vector<std::string> names = backend_names();
  if (names.empty()) {
    throw InputError(place,
                     "this build can measure nothing: Open MPI and OpenBLAS were not there when it "
                     "was built; run "
                     "./setup.sh and build again, or fit from files with --from");
  }
  if (word == "auto") return names.front();
  if (std::find(names.begin(), names.end(), word) != names.end()) return word;
  std::string accepted = "auto";
  for (const std::string& name : names) accepted += ", " + name;
  throw InputError(place, "'" + word + "' is no backend of this build; accepted: " + accepted);
}

bool backend_supports(const std::string& name, [[maybe_unused]] const Operation& operation,
                      [[maybe_unused]] int ranks) {
#ifdef DDPX_HAS_MPI
  if (name == "cpu") return cpu::Workload::supports(operation, ranks);
#endif
  return false;
}

std::unique_ptr<Backend> make_backend(const std::string& name, [[maybe_unused]] Pulse& pulse) {
#ifdef DDPX_HAS_MPI
  if (name == "cpu") return std::make_unique<cpu::CpuBackend>(pulse);
#endif
  throw DeviceError("backend " + name + ": is not in this build");
}

std::unique_ptr<engine::Device> make_device(const std::string& name,
                                            [[maybe_unused]] Pulse& pulse) {
#ifdef DDPX_HAS_MPI
  if (name == "cpu") return std::make_unique<cpu::CpuDevice>(pulse);
#endif
  throw DeviceError("device " + name + ": is not in this build");
}

}  // namespace ddpx
