#include "io/nccl_tests_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ddpx::io::nccl {
namespace {

// No row of any version is near it: what is longer is somebody else's line.
constexpr std::size_t kLongestLine = 1024;
constexpr std::size_t kLongestTag = 80;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

bool all_digits(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

// "0", "1,0", "default0", "prterun-host-1@1,0": what stands between the brackets of a rank tag.
// Device ids ("0x07", "0000:00:06") are none.
bool is_tag(std::string_view inside) {
  if (const std::size_t at = inside.rfind('@'); at != std::string_view::npos)
    inside.remove_prefix(at + 1);
  if (inside.starts_with("default")) inside.remove_prefix(7);
  if (const std::size_t comma = inside.find(','); comma != std::string_view::npos) {
    return all_digits(inside.substr(0, comma)) && all_digits(inside.substr(comma + 1));
  }
  return all_digits(inside);
}

struct Tag {
  std::string_view inside;
  std::size_t length = 0;
};

// mpirun --tag-output "[1,0]<stdout>:", mpiexec -l "[0]", torchrun "[default0]:", at the start of
// `text`.
std::optional<Tag> bracket_tag(std::string_view text) {
  const std::size_t close = text.substr(0, kLongestTag).find(']');
  if (text.empty() || text[0] != '[' || close == std::string_view::npos) return std::nullopt;
  Tag tag{text.substr(1, close - 1), close + 1};
  if (!is_tag(tag.inside)) return std::nullopt;
  for (const std::string_view more : {"<stdout>", "<stderr>", ":"}) {
    if (text.substr(tag.length).starts_with(more)) tag.length += more.size();
  }
  return tag;
}

// srun --label "0: ", at the start of `text`.
std::optional<Tag> label_tag(std::string_view text) {
  const std::size_t colon = text.substr(0, 8).find(':');
  if (colon == std::string_view::npos || !all_digits(text.substr(0, colon))) return std::nullopt;
  if (colon + 1 < text.size() && !is_space(text[colon + 1]) && text[colon + 1] != '#')
    return std::nullopt;
  return Tag{text.substr(0, colon), colon + 1};
}

// Length of a terminal's control sequence (ECMA-48: ESC [ parameters final) at the start of `text`,
// or 0.
std::size_t control_sequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return text.starts_with("\x1b") ? 1 : 0;
  std::size_t length = 2;
  while (length < text.size() && (text[length] < '@' || text[length] > '~')) ++length;
  return std::min(length + 1, text.size());
}

}  // namespace

LogLines::LogLines(std::string_view text) : rest_(text) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
}

const LogLine* LogLines::next() {
  if (rest_.empty()) return nullptr;
  const std::size_t end = rest_.find('\n');
  line_.number += 1;
  line_.ended = end != std::string_view::npos;
  line_.raw = rest_.substr(0, end);
  rest_.remove_prefix(line_.ended ? end + 1 : rest_.size());
  if (line_.raw.ends_with('\r')) line_.raw.remove_suffix(1);
  clean();
  return &line_;
}

void LogLines::clean() {
  std::string_view in = line_.raw.substr(0, kLongestLine);
  line_.tag = {};
  line_.comment = false;
  buffer_.clear();
  bool at_start = true;
  if (in.find_first_of("[:\x1b") == std::string_view::npos) {
    buffer_.assign(in);
  } else {
    while (!in.empty()) {
      if (const std::size_t length = control_sequence(in)) {
        in.remove_prefix(length);
        continue;
      }
      std::optional<Tag> tag = in[0] == '[' ? bracket_tag(in) : std::nullopt;
      if (!tag && at_start && is_digit(in[0])) tag = label_tag(in);
      if (tag) {
        if (at_start) line_.tag = tag->inside;
        buffer_ += ' ';
        in.remove_prefix(tag->length);
        continue;
      }
      if (!is_space(in[0])) at_start = false;
      buffer_ += in[0];
      in.remove_prefix(1);
    }
  }
  std::string_view text = buffer_;
  while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
  while (text.starts_with('#')) {
    line_.comment = true;
    text.remove_prefix(1);
  }
  line_.text = text;
  line_.words.clear();
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && is_space(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) line_.words.push_back(text.substr(begin, i - begin));
  }
}

std::optional<Printed> printed_number(std::string_view word) {
  if (word.empty() || !(is_digit(word[0]) || word[0] == '-' || word[0] == '.')) return std::nullopt;
  Printed number;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number.value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number.value)) {
    return std::nullopt;
  }
  int exponent = 0;
  std::string_view digits = word;
  if (const std::size_t e = word.find_first_of("eE"); e != std::string_view::npos) {
    digits = word.substr(0, e);
    std::string_view power = word.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
  }
  const std::size_t point = digits.find('.');
  const auto decimals =
      point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  number.half_unit = 0.5 * std::pow(10.0, exponent - decimals);
  return number;
}

std::optional<double> whole_number(std::string_view word) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value > (1ULL << 62U))
    return std::nullopt;
  return static_cast<double>(value);
}

std::optional<int> number_after(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(found + label.size());
  while (!rest.empty() && (is_space(rest[0]) || rest[0] == ':' || rest[0] == '='))
    rest.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

std::string size_text(double bytes) {
  static constexpr std::array<std::string_view, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1024.0) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

}  // namespace ddpx::io::nccl
