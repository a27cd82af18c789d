// Columns of text with two spaces between. On a page too narrow for all of them side by side cells
// of words are broken into lines; where that is not enough the columns stand in bands, one below
// the other, each with those that name a row, and a cell wider than its band is broken.
// Nothing is cut.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ddpx {

class TextTable {
 public:
  struct Column {
    std::string head;
    bool left = false;      // words; numbers align right
    std::size_t least = 0;  // width where the page has room, so that two tables stand in line
  };
  // The first `keys` columns name a row.
  explicit TextTable(std::vector<Column> columns, std::size_t keys = 1)
      : columns_(std::move(columns)), keys_(keys) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Of the whole table side by side, no cell broken.
  [[nodiscard]] std::size_t width() const;
  // One line per row, the heads above; in bands where that is wider than columns().
  [[nodiscard]] std::string text() const;

 private:
  using Widths = std::vector<std::size_t>;
  using Band = std::vector<std::size_t>;  // columns by number

  [[nodiscard]] Widths widths(bool roomy) const;
  [[nodiscard]] Widths side_by_side_within(std::size_t within) const;
  [[nodiscard]] Widths narrowed(std::size_t within) const;
  [[nodiscard]] std::vector<Band> bands(const Widths& widths, std::size_t within) const;
  [[nodiscard]] std::string band_text(const Band& band, const Widths& widths) const;

  std::vector<Column> columns_;
  std::size_t keys_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddpx
