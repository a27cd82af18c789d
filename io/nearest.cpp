#include "io/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ddpx::io {
namespace {

constexpr std::size_t kLongestWord = 60;

// Insertions, deletions and replacements between two words (Levenshtein 1966).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

// About a third of a word may be wrong, one letter always; two swapped letters are two edits.
std::size_t allowed(std::string_view word) {
  return std::max<std::size_t>(1, (word.size() + 1) / 3);
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> accepted) {
  std::string list;
  for (const std::string& one : accepted) list += (list.empty() ? "" : ", ") + one;
  std::string all = list.empty() ? "none is known" : "accepted: " + list;
  if (accepted.empty() || word.size() > kLongestWord) return all;
  const auto nearest = std::min_element(
      accepted.begin(), accepted.end(),
      [&](const std::string& a, const std::string& b) { return edits(word, a) < edits(word, b); });
  return edits(word, *nearest) <= allowed(*nearest) ? "did you mean " + *nearest + "? " + all : all;
}

}  // namespace ddpx::io
