#include "report/escape.hpp"

#include <cstdint>

namespace ddpx::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the UTF-8 sequence that `text` begins with; 0 when it is not one (Unicode 15, table 3-7:
// no overlong forms, no surrogates).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  const bool overlong = first == 0xF0 && byte(1) < 0x90;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
}

// Marks that reorder or break lines in a display: U+0080..9F, U+2028..2029, U+202A..202E,
// U+2066..2069.
bool unsafe(std::string_view sequence) {
  if (sequence.size() == 2)
    return sequence[0] == '\xC2' && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
  if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
  const auto last = static_cast<std::uint8_t>(sequence[2]);
  if (sequence[1] == '\x80') return last >= 0xA8 && last <= 0xAE;
  return sequence[1] == '\x81' && last >= 0xA6 && last <= 0xA9;
}

// Calls `ascii` for every printable ASCII character and `other` for every well-formed sequence
// beyond.
template <class Ascii, class Other>
void each_character(std::string_view text, const Ascii& ascii, const Other& other) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    const char c = sequence.front();
    if (length == 1 && (c == '\n' || c == '\r' || c == '\t')) {
      ascii(' ');
    } else if (length == 1 && c >= ' ' && c != '\x7F') {
      ascii(c);
    } else if (length < 2 || unsafe(sequence)) {
      other(kReplacement);
    } else {
      other(sequence);
    }
    text.remove_prefix(sequence.size());
  }
}

}  // namespace

std::string xml(std::string_view text) {
  std::string out;
  const auto ascii = [&](char c) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  };
  each_character(text, ascii, [&](std::string_view sequence) { out += sequence; });
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  const auto ascii = [&](char c) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      if (std::string_view("\\`*[]|#~$").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  };
  each_character(text, ascii, [&](std::string_view sequence) { out += sequence; });
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  const auto ascii = [&](char c) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  };
  each_character(text, ascii, [&](std::string_view sequence) { out += sequence; });
  return out + '"';
}

std::string terminal_text(std::string_view text) {
  std::string out;
  each_character(
      text, [&](char c) { out += c; }, [&](std::string_view) { out += '?'; });
  return out;
}

}  // namespace ddpx::report
