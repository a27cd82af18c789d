// A misspelt word is answered with the word that was probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpx {

// The candidate with the fewest edits (Levenshtein 1966), the first of equals; nullopt where more than a third of the word would change.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace ddpx
