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

// Channels of a link of which only a bandwidth is known. NCCL ran 2 to 24 on links that were looked
// at; a count that grew with the bandwidth would let more bandwidth slow a step.
inline constexpr int kAssumedChannels = 4;

}  // namespace ddpx
