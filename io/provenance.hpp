// Where a result comes from: what built it, what it ran on, which switches were set. Nothing that
// names a person, a host or an address: files get published.
#pragma once

#include <string>

#include "io/schema.hpp"

namespace ddpx::io {

// "0.1.0", and the state of git it was built from where there was one: "0.1.0 (8f2c1ab-dirty)".
[[nodiscard]] std::string version();

// ddpx, compiler, os, cpu, and the environment switches of NCCL, OpenMP and CUDA that are set.
[[nodiscard]] Context provenance();

}  // namespace ddpx::io
