// A document as one HTML page that needs nothing else: style and charts are inside, no script, no
// address to load from. Readable on a phone (wide tables scroll by themselves) and in dark mode.
#pragma once

#include <string>

#include "report/document.hpp"

namespace ddpx::report {

[[nodiscard]] std::string html(const Document& document);

}  // namespace ddpx::report
