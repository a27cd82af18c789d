// What a kernel launch is, beside its name or time: the members that KernelRecord (measurements)
// and KernelLaunch (networks) share.
#pragma once

#include <limits>

#include "io/json_reader.hpp"

namespace ddpx::io {

template <class Kernel>
void read_geometry(const Reader& from, Kernel& kernel) {
  constexpr int kMost = std::numeric_limits<int>::max();
  kernel.blocks = from.at("blocks").positive();
  kernel.threads = from.at("threads").integer(1, kMost);
  kernel.registers_per_thread = from.at("registers_per_thread").integer(0, kMost);
  kernel.shared_bytes = from.at("shared_bytes").integer(0, kMost);
  kernel.persistent = from.at("persistent").boolean();
}

template <class Kernel>
void append_geometry(JsonObject& members, const Kernel& kernel) {
  members.emplace_back("blocks", kernel.blocks);
  members.emplace_back("threads", kernel.threads);
  members.emplace_back("registers_per_thread", kernel.registers_per_thread);
  members.emplace_back("shared_bytes", kernel.shared_bytes);
  members.emplace_back("persistent", kernel.persistent);
}

}  // namespace ddpx::io
