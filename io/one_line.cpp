#include "io/one_line.hpp"

#include <array>

namespace ddpx::io {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Bytes of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none (The Unicode
// Standard, table 3-7). `code` receives the character.
std::size_t utf8_length(std::string_view text, unsigned& code) {
  struct Lead {
    unsigned mask, mark, least;
  };
  constexpr std::array<Lead, 4> kLeads{
      {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}}};
  const unsigned first = byte_at(text, 0);
  for (std::size_t length = 1; length <= kLeads.size() && length <= text.size(); ++length) {
    const Lead& lead = kLeads[length - 1];
    if ((first & lead.mask) != lead.mark) continue;
    code = first & ~lead.mask;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
      code = code << 6 | (byte_at(text, i) & 0x3F);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < lead.least || code > 0x10FFFF || surrogate ? 0 : length;
  }
  return 0;
}

// Characters that end a line or change how the rest of it is shown.
bool breaks_the_line(unsigned code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

void append_escaped(std::string& line, std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned byte = byte_at(bytes, i);
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (byte == '\r') {
      line += "\\r";
    } else {
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 0xF];
    }
  }
}

}  // namespace

std::string one_line(std::string_view text, std::size_t limit) {
  std::string line;
  while (!text.empty()) {
    if (line.size() >= limit) return line + "...";
    unsigned code = 0;
    const std::size_t length = utf8_length(text, code);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || breaks_the_line(code)) {
      append_escaped(line, character);
    } else {
      line += character;
    }
    text.remove_prefix(character.size());
  }
  return line;
}

std::string quoted(std::string_view text) { return "\"" + one_line(text) + "\""; }

}  // namespace ddpx::io
