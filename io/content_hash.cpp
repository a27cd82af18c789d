#include "io/content_hash.hpp"

#include <cstdint>

namespace ddpx::io {

std::string content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : content) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  std::string text = "fnv1a64:";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 0xF];
  return text;
}

}  // namespace ddpx::io
