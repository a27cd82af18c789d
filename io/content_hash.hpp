// Tells whether a file is still the one a machine was fitted from. It guards against mix-ups, not
// against forgery: 64 bits and no secret.
#pragma once

#include <string>
#include <string_view>

namespace ddpx::io {

// FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923), as "fnv1a64:" and 16 hexadecimal digits.
[[nodiscard]] std::string content_hash(std::string_view content);

}  // namespace ddpx::io
