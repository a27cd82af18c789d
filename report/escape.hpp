// Text from files (network names, sources, notes) made harmless for the format it goes into. Bytes
// that are not UTF-8 and control characters become U+FFFD; line breaks become spaces.
#pragma once

#include <string>
#include <string_view>

namespace ddpx::report {

// For XML and HTML, between tags and in quoted attributes.
[[nodiscard]] std::string xml(std::string_view text);
// For Markdown running text and table cells: no markup, no HTML, no cell boundary.
[[nodiscard]] std::string markdown_text(std::string_view text);
// A JSON string with its quotation marks.
[[nodiscard]] std::string json_string(std::string_view text);
// For a terminal: what is unsafe there becomes \xNN (text/unicode.hpp).
[[nodiscard]] std::string terminal_text(std::string_view text);

}  // namespace ddpx::report
