// --list-links and --list-machines as text.
#pragma once

#include <span>
#include <string>

#include "model/machine.hpp"

namespace ddpx {

// Each with latency, bus bandwidth as a range, peak, what it is and where its figures come from.
[[nodiscard]] std::string links_text(std::span<const Link> links);
[[nodiscard]] std::string machines_text(std::span<const Machine> machines);

}  // namespace ddpx
