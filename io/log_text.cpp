#include "io/log_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/error.hpp"

namespace ddpx::io {
namespace {

// No row is longer; of a longer line the beginning is enough to tell what it is.
constexpr std::size_t kLongestLine = 4096;

bool holds(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

// The numbers of a row whose head was printed before NCCL's own lines; launchers' tags, N/A and
// dates included.
bool only_numbers(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == ' ' || c == '\t' || c == '.' || c == '-' || c == '+' ||
           c == 'e' || c == 'N' || c == 'A' || c == '/' || c == ':' || c == ',' || c == '[' ||
           c == ']' || c == '\r';
  });
}

}  // namespace

bool may_matter(std::string_view line) {
  // A row's or header's type or unit; what opens and closes a run.
  static constexpr std::array<std::string_view, 16> kWords{
      "float", "half",  "double", "int",     "fp8",        "f8e",     "type",          "(us)",
      "(ms)",  "_perf", "Rank ",  "nThread", "nccl-tests", "nranks ", "Out of bounds", "{\""};
  if (only_numbers(line)) return true;
  // NCCL's own lines come by the million. One that a row's head was written into is kept.
  const std::size_t nccl = line.find("NCCL ");
  const std::string_view before = nccl == std::string_view::npos ? line : line.substr(0, nccl);
  for (std::string_view word : kWords) {
    if (holds(before, word)) return true;
  }
  return nccl != std::string_view::npos && holds(line.substr(nccl), "nranks ");
}

void refuse_wide_text(std::string_view text, std::string_view place) {
  constexpr std::size_t kLook = 256;
  constexpr std::size_t kFewest = 16;
  const std::string_view head = text.substr(0, kLook);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < head.size(); ++i) zeros[i % 2] += head[i] == '\0' ? 1U : 0U;
  // Without a mark: every other byte of plain text is zero.
  const auto zero_at = [&](std::size_t parity) {
    return head.size() >= kFewest && 2 * zeros[parity] + 2 >= head.size() && zeros[1 - parity] == 0;
  };
  std::string from;
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    from = "UTF-16";
  } else if (zero_at(1)) {
    from = "UTF-16LE";
  } else if (zero_at(0)) {
    from = "UTF-16BE";
  }
  if (!from.empty())
    throw InputError(place, "is UTF-16 text; convert it: iconv -f " + from + " -t UTF-8");
}

void LogFilter::add_line(std::string_view line) {
  line = line.substr(0, kLongestLine);
  if (may_matter(line)) kept_ += line;
  kept_ += '\n';
}

void LogFilter::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view line = piece.substr(0, end);
    if (end == std::string_view::npos) {
      if (open_.size() < kLongestLine) open_ += line.substr(0, kLongestLine);
      return;
    }
    if (open_.empty()) {
      add_line(line);
    } else {
      if (open_.size() < kLongestLine) open_ += line.substr(0, kLongestLine);
      add_line(std::exchange(open_, {}));
    }
    piece.remove_prefix(end + 1);
  }
}

std::string LogFilter::take() {
  if (may_matter(open_)) kept_ += open_;
  open_.clear();
  return std::exchange(kept_, {});
}

}  // namespace ddpx::io
