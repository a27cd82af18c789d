// A link known by two figures: "25GB/s,10us".
#pragma once

#include <string_view>

#include "model/link.hpp"

namespace ddpx {

// Whether `text` is meant as figures (a number first), so that a misspelt figure is reported as one
// and not as an unknown name.
[[nodiscard]] bool looks_like_figures(std::string_view text);

// The bus bandwidth of a large all-reduce in nccl-tests' convention and the time of the smallest
// one on two ranks. Throws InputError at `place`.
[[nodiscard]] Link link_from_figures(std::string_view place, std::string_view text);

// NCCL's usual channel count where only a bandwidth is known: its all-reduce on two H200 ran 4
// channels through host memory (27 GB/s) and 24 on NVLink (297 GB/s).
[[nodiscard]] int assumed_channels(BytesPerSecond bus_bandwidth);

}  // namespace ddpx
