#include "text/table.hpp"

#include <gtest/gtest.h>

#include "tests/support/lines.hpp"
#include "text/page.hpp"

namespace ddpx {
namespace {

class Table : public testing::Test {
 protected:
  void TearDown() override { use_columns(kColumns); }
};

TEST_F(Table, columns_align_and_lines_end_without_spaces) {
  TextTable table({{"name", true}, {"n"}});
  table.add({"a", "1"});
  table.add({"longer", "1000"});
  EXPECT_EQ(table.text(), "name       n\na          1\nlonger  1000\n");
  EXPECT_EQ(table.width(), 12U);
}

TEST_F(Table, columns_are_of_the_terminal_and_not_of_bytes) {
  TextTable table({{"name", true}, {"n"}});
  table.add({"größe", "1"});
  table.add({"中文模型", "2"});
  table.add({"e\u0301", "3"});
  EXPECT_EQ(table.text(), "name      n\ngröße     1\n中文模型  2\ne\u0301         3\n");
  EXPECT_EQ(table.width(), 11U);
}

TEST_F(Table, a_least_width_holds_where_the_page_has_room) {
  TextTable table({{"name", true, 8}, {"n", false, 3}});
  table.add({"a", "1"});
  EXPECT_EQ(table.text(), "name        n\na           1\n");
}

TEST_F(Table, stands_in_bands_on_a_narrow_page_each_with_what_names_the_row) {
  TextTable table({{"GPUs"}, {std::string(20, 'a')}, {std::string(12, 'b')}, {"verdict", true}});
  table.add({"2", "1", "2", "pays"});
  table.add({"16", "3", "4", "does not pay"});
  use_columns(40);
  EXPECT_EQ(table.text(),
            "GPUs  aaaaaaaaaaaaaaaaaaaa  bbbbbbbbbbbb\n"
            "   2                     1             2\n"
            "  16                     3             4\n"
            "\n"
            "GPUs  verdict\n"
            "   2  pays\n"
            "  16  does not pay\n");
}

TEST_F(Table, a_cell_wider_than_its_band_is_broken_and_not_cut) {
  TextTable table({{"strategy", true}, {"gain, %"}});
  table.add({"accumulate=8,compress=fp16,bucket=25MiB", "+45 (41..49)"});
  use_columns(40);
  EXPECT_EQ(table.text(),
            "strategy                         gain, %\n"
            "accumulate=8,               +45 (41..49)\n"
            "compress=fp16,bucket=25MiB\n");
}

// Bands would take three columns from one another for want of six characters.
TEST_F(Table, words_are_broken_before_columns_go_into_bands) {
  TextTable table({{"strategy", true}, {"aaaaaa"}, {"bbbb"}, {"cc"}});
  table.add({"accumulate=8,compress=fp16", "1", "2", "3"});
  EXPECT_EQ(table.width(), 44U);
  use_columns(40);
  EXPECT_EQ(table.text(),
            "strategy                aaaaaa  bbbb  cc\n"
            "accumulate=8,                1     2   3\n"
            "compress=fp16\n");
}

// Whatever the cells: no line is wider than the page, and every character is there.
TEST_F(Table, fits_every_page_with_every_cell) {
  for (std::size_t page = kFewestColumns; page <= kColumns; ++page) {
    use_columns(page);
    for (std::size_t widest = 1; widest < 120; widest += 7) {
      for (std::size_t keys = 1; keys <= 3; ++keys) {
        TextTable table({{"k", true}, {"l", true}, {"m"}, {"n"}, {"o", true}}, keys);
        for (char c : {'x', 'y'})
          table.add({std::string(widest, c), "short", std::string(widest / 2, c), "1",
                     std::string(widest, c)});
        const std::string text = table.text();
        EXPECT_LE(test::longest_line(text), page) << text;
        EXPECT_GE(static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x')),
                  2 * widest + widest / 2)
            << text;
      }
    }
  }
}

}  // namespace
}  // namespace ddpx
