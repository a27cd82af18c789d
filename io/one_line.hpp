// An error message is one line, whatever the file it complains about contains.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpx::io {

// Bytes of a file's name that a message has room for.
inline constexpr std::size_t kLongestPlace = 400;

// `text` with control characters, line separators, bidirectional marks and bytes that are not UTF-8
// spelled out (\n, \x1b), cut after about `limit` bytes.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t limit = 60);

// The same between quotation marks, for a value that was given.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace ddpx::io
