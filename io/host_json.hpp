// What a training framework costs the host: {"torch": {...}, "native": {...}}, each only where it
// is known.
#pragma once

#include <array>
#include <optional>

#include "io/json_reader.hpp"
#include "model/machine.hpp"

namespace ddpx::io {

using Hosts = std::array<std::optional<HostCosts>, 2>;  // by Engine

[[nodiscard]] Hosts hosts_of(const Reader& from);
[[nodiscard]] JsonObject hosts_json(const Hosts& hosts);

}  // namespace ddpx::io
