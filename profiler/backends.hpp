// The backends of this build. backends.cpp alone knows them; everyone else asks by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/launch.hpp"
#include "profiler/pulse.hpp"

namespace ddpx {

namespace engine {
class Device;
}

// "cuda" and "cpu", the better first; without what was not there when this was built.
[[nodiscard]] std::vector<std::string> backend_names();

// GPUs this process can use; 0 in a build without CUDA, or where its libraries are missing.
[[nodiscard]] int visible_gpus();

// The backend that `word` means: a name, or "auto" for GPUs where there are some, else CPU ranks.
// Throws InputError at `place` naming what this build has.
[[nodiscard]] std::string backend_named(const std::string& word, std::string_view place);

// What joins its ranks.
[[nodiscard]] Library library_of(const std::string& name);

// As Backend::supports(), without a rank.
[[nodiscard]] bool backend_supports(const std::string& name, const Operation& operation, int ranks);

// On a rank. `pulse` must outlive the backend.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const std::string& name, Pulse& pulse,
                                                    const BackendOptions& options = {});

// The same hardware as the engine uses it. On a rank; `pulse` must outlive the device.
[[nodiscard]] std::unique_ptr<engine::Device> make_device(const std::string& name, Pulse& pulse);

}  // namespace ddpx
