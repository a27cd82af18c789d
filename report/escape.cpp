#include "report/escape.hpp"

#include <algorithm>

#include "text/unicode.hpp"

namespace ddpx::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Calls `ascii` for every printable ASCII character and `other` for every other that is safe to
// show.
template <class Ascii, class Other>
void each_character(std::string_view text, const Ascii& ascii, const Other& other) {
  while (!text.empty()) {
    const Character next = first_character(text);
    const char c = next.bytes.front();
    if (c == '\n' || c == '\r' || c == '\t') {
      ascii(' ');
    } else if (!next.well_formed || is_unsafe(next.code)) {
      other(kReplacement);
    } else if (next.code < 0x80) {
      ascii(c);
    } else {
      other(next.bytes);
    }
    text.remove_prefix(next.bytes.size());
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
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(line);
}

}  // namespace ddpx::report
