#include "text/page.hpp"

#include <algorithm>

#include "text/unicode.hpp"

namespace ddpx {
namespace {

std::size_t page_columns = kColumns;

constexpr char kTie = '\x1f';  // a space that no line ends in

std::string tied(std::string_view given) {
  std::string text(given);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ') continue;
    const bool before_percent = i + 1 < text.size() && text[i + 1] == '%';
    const bool after_sign = i >= 2 && text[i - 1] == '-' && text[i - 2] == '+';
    if (before_percent || after_sign) text[i] = kTie;
  }
  return text;
}

}  // namespace

void use_columns(std::size_t columns) {
  page_columns = std::clamp(columns, kFewestColumns, kColumns);
}

std::size_t columns() { return page_columns; }

std::vector<std::string> broken(std::string_view given, std::size_t within,
                                const Wrapping& wrapping) {
  const std::string whole = tied(given);
  std::string_view text = whole;
  const std::size_t rest = std::min(wrapping.rest, within / 2);
  std::vector<std::string> lines{std::string(std::min(wrapping.first, within / 2), ' ')};
  std::size_t used = lines.back().size();  // columns of the last line
  bool begins = true;                      // no word on it yet
  const auto add = [&](std::string_view part) {
    lines.back() += part;
    used += columns_of(part);
  };
  const auto new_line = [&] {
    lines.emplace_back(rest, ' ');
    used = rest;
    begins = true;
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!begins && used + 1 + columns_of(word) > within) new_line();
    if (!begins) add(" ");
    while (used + columns_of(word) > within) {
      std::string_view part = prefix_within(word, within - used);
      if (used > rest && used + columns_of(part) > within) {  // a wide character
        new_line();
        continue;
      }
      if (part.size() == word.size()) break;  // one character, wider than the line
      if (const std::size_t behind = part.find_last_of("/,");
          behind != std::string_view::npos && behind > 0)
        part = part.substr(0, behind + 1);
      add(part);
      word.remove_prefix(part.size());
      new_line();
    }
    add(word);
    begins = false;
  }
  for (std::string& line : lines) std::replace(line.begin(), line.end(), kTie, ' ');
  return lines;
}

std::string wrapped(std::string_view text, const Wrapping& wrapping) {
  std::string result;
  for (const std::string& line : broken(text, columns(), wrapping)) result += line + "\n";
  return result;
}

std::string labelled(std::string_view label, std::string_view text) {
  const std::size_t indent = columns_of(label);
  std::string result = wrapped(text, {.first = indent, .rest = indent});
  return result.replace(0, indent, label);
}

}  // namespace ddpx
