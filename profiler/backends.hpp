// The backends of this build. backends.cpp alone knows them; everyone else asks by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/backend.hpp"
#include "profiler/pulse.hpp"

namespace ddpx {

namespace engine {
class Device;
}

// "cpu"; empty in a build without Open MPI.
[[nodiscard]] std::vector<std::string> backend_names();

// The backend that `word` means: a name, or "auto" for the best there is. Throws InputError at
// `place` naming what this build has.
[[nodiscard]] std::string backend_named(const std::string& word, std::string_view place);

// As Backend::supports(), without a rank.
[[nodiscard]] bool backend_supports(const std::string& name, const Operation& operation, int ranks);

// On a rank. `pulse` must outlive the backend.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const std::string& name, Pulse& pulse);

// The same hardware as the engine uses it. On a rank; `pulse` must outlive the device.
[[nodiscard]] std::unique_ptr<engine::Device> make_device(const std::string& name, Pulse& pulse);

}  // namespace ddpx
