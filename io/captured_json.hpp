// The parts of a network file that only a capture writes.
#pragma once

#include "io/json_reader.hpp"
#include "model/network.hpp"

namespace ddpx::io {

[[nodiscard]] KernelLaunch launch_of(const Reader& from);
[[nodiscard]] JsonObject launch_json(const KernelLaunch& launch);

[[nodiscard]] Captured captured_of(const Reader& from);
[[nodiscard]] JsonObject captured_json(const Captured& captured);

}  // namespace ddpx::io
