#include "text/page.hpp"

#include <algorithm>

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

std::string ascii(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return result;
}

std::vector<std::string> broken(std::string_view given, std::size_t within,
                                const Wrapping& wrapping) {
  const std::string whole = tied(given);
  std::string_view text = whole;
  const std::size_t rest = std::min(wrapping.rest, within / 2);
  std::vector<std::string> lines{std::string(std::min(wrapping.first, within / 2), ' ')};
  bool begins = true;  // no word on this line yet
  const auto new_line = [&] {
    lines.emplace_back(rest, ' ');
    begins = true;
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!begins && lines.back().size() + 1 + word.size() > within) new_line();
    if (!begins) lines.back() += ' ';
    while (lines.back().size() + word.size() > within) {
      std::size_t part = within - lines.back().size();
      if (const std::size_t behind = word.substr(0, part).find_last_of("/,");
          behind != std::string_view::npos && behind > 0)
        part = behind + 1;
      lines.back() += word.substr(0, part);
      word.remove_prefix(part);
      new_line();
    }
    lines.back() += word;
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
  std::string result = wrapped(text, {.first = label.size(), .rest = label.size()});
  return result.replace(0, label.size(), label);
}

}  // namespace ddpx
