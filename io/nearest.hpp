// What to say after an unknown word: the accepted one it may be a slip of, and the accepted ones.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddpx::io {

// "did you mean pcie3? accepted: pcie3, pcie4": the first part only where a word is near enough to
// be a slip of the pen.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> accepted);

}  // namespace ddpx::io
