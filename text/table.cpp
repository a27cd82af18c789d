#include "text/table.hpp"

#include <algorithm>
#include <numeric>

#include "text/page.hpp"
#include "text/unicode.hpp"

namespace ddpx {
namespace {

constexpr std::size_t kBetween = 2;         // spaces
constexpr std::size_t kFewestOfWords = 16;  // narrower they do not read

std::size_t side_by_side(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (std::size_t width : widths) sum += width + kBetween;
  return sum == 0 ? 0 : sum - kBetween;
}

}  // namespace

TextTable::Widths TextTable::widths(bool roomy) const {
  Widths widths;
  for (const Column& column : columns_)
    widths.push_back(std::max(columns_of(column.head), roomy ? column.least : 0));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  return widths;
}

std::size_t TextTable::width() const { return side_by_side(widths(true)); }

// Words give way as far as they can be read.
TextTable::Widths TextTable::side_by_side_within(std::size_t within) const {
  Widths all = widths(true);
  while (side_by_side(all) > within) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (columns_[i].left && all[i] > kFewestOfWords && (widest == nullptr || all[i] > *widest))
        widest = &all[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return all;
}

// Keys leave half of a line to the widest other column, and no other is wider than that leaves.
TextTable::Widths TextTable::narrowed(std::size_t within) const {
  Widths all = widths(false);
  Widths keys(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keys_));
  const auto others = all.begin() + static_cast<std::ptrdiff_t>(keys_);
  const std::size_t widest = others == all.end() ? 0 : *std::max_element(others, all.end());
  const std::size_t room = within - kBetween - std::min(widest, within / 2);
  while (side_by_side(keys) > room) --*std::max_element(keys.begin(), keys.end());
  std::copy(keys.begin(), keys.end(), all.begin());
  const std::size_t left = within - kBetween - side_by_side(keys);
  std::for_each(others, all.end(), [&](std::size_t& width) { width = std::min(width, left); });
  return all;
}

std::vector<TextTable::Band> TextTable::bands(const Widths& widths, std::size_t within) const {
  Band keys(keys_);
  std::iota(keys.begin(), keys.end(), std::size_t{0});
  std::vector<Band> bands;
  std::size_t used = within;
  for (std::size_t i = keys_; i < columns_.size(); ++i) {
    if (used + kBetween + widths[i] > within) {
      bands.push_back(keys);
      used =
          side_by_side(Widths(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(keys_)));
    }
    bands.back().push_back(i);
    used += kBetween + widths[i];
  }
  return bands.empty() ? std::vector<Band>{keys} : bands;
}

std::string TextTable::band_text(const Band& band, const Widths& widths) const {
  std::string result;
  const auto add = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t i : band) {
      cells.push_back(columns_of(cell_of(i)) > widths[i] ? broken(cell_of(i), widths[i])
                                                         : std::vector{cell_of(i)});
      height = std::max(height, cells.back().size());
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::string line;
      for (std::size_t i = 0; i < band.size(); ++i) {
        const std::string cell = row < cells[i].size() ? cells[i][row] : "";
        // A wide character may need more than a narrow column has.
        const std::string pad(widths[band[i]] - std::min(widths[band[i]], columns_of(cell)), ' ');
        if (i > 0) line += std::string(kBetween, ' ');
        line += columns_[band[i]].left ? cell + pad : pad + cell;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
    }
  };
  add([&](std::size_t i) -> const std::string& { return columns_[i].head; });
  for (const auto& row : rows_) add([&](std::size_t i) -> const std::string& { return row[i]; });
  return result;
}

std::string TextTable::text() const {
  if (const Widths whole = side_by_side_within(columns()); side_by_side(whole) <= columns()) {
    Band all(columns_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return band_text(all, whole);
  }
  const Widths narrow = narrowed(columns());
  std::string result;
  for (const Band& band : bands(narrow, columns()))
    result += (result.empty() ? "" : "\n") + band_text(band, narrow);
  return result;
}

}  // namespace ddpx
