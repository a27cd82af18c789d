#include "predict/text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace ddpx {
namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Text, numbers_have_three_significant_digits) {
  EXPECT_EQ(three_digits(1.8666), "1.87");
  EXPECT_EQ(three_digits(0.31549), "0.315");
  EXPECT_EQ(three_digits(12.04), "12.0");
  EXPECT_EQ(three_digits(123.4), "123");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(0.99951), "1.00");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(1e300), "1.00e+300");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(three_digits(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Text, units_are_the_largest_that_leave_one_or_more) {
  EXPECT_EQ(amount_text(542784), "543K");
  EXPECT_EQ(amount_text(33.7e6), "33.7M");
  EXPECT_EQ(amount_text(999.9e6), "1.00B");
  EXPECT_EQ(time_text(Seconds(9.81e-6)), "9.81 us");
  EXPECT_EQ(time_text(Seconds(0.0123)), "12.3 ms");
  EXPECT_EQ(time_text(Seconds(0.99996)), "1.00 s");
  EXPECT_EQ(size_text(Bytes(26214400)), "26.2 MB");
  EXPECT_EQ(rate_text(BytesPerSecond(4.05e9)), "4.05 GB/s");
  EXPECT_EQ(percent_text(0.123), "12 %");
  EXPECT_EQ(percent_text(0.0044), "0.4 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(count_text(256), "256");
  EXPECT_EQ(count_text(2.5), "2.5");
}

TEST(Text, an_interval_stands_behind_its_value) {
  EXPECT_EQ(interval_text({1.87, 1.78, 1.96}), "1.87 (1.78-1.96)");
}

TEST(Text, other_than_ascii_never_reaches_the_terminal) {
  EXPECT_EQ(ascii("a\x1b[2J\xc3\xa9\n"), "a?[2J???");
}

TEST(Text, wrapping_breaks_at_spaces_and_inside_words_only_when_it_must) {
  const std::string text =
      wrapped("one two " + std::string(200, 'x') + " three", {.first = 0, .rest = 4});
  EXPECT_LE(longest_line(text), kColumns);
  std::string joined;
  for (char c : text) {
    if (c != ' ' && c != '\n') joined += c;
  }
  EXPECT_EQ(joined, "onetwo" + std::string(200, 'x') + "three");
  EXPECT_EQ(wrapped(""), "\n");
  EXPECT_EQ(wrapped("  a   b "), "a b\n");
}

TEST(Text, a_sentence_fills_eighty_columns_and_no_more) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word" + std::to_string(i) + " ";
  EXPECT_LE(longest_line(wrapped(text, {.rest = 2})), kColumns);
  EXPECT_GT(longest_line(wrapped(text, {.rest = 2})), kColumns - 10);
}

TEST(Text, a_sentence_keeps_to_a_narrow_terminal_and_a_table_to_eighty_columns) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word" + std::to_string(i) + " ";
  for (const auto& [columns, most] :
       {std::pair(60U, std::size_t{60}), {10U, kFewestColumns}, {200U, kColumns}}) {
    use_columns(columns);
    EXPECT_LE(longest_line(wrapped(text, {.rest = 2})), most);
    EXPECT_GT(longest_line(wrapped(text, {.rest = 2})), most - 10);
    TextTable table({{std::string(70, 'x'), true}, {"n"}});
    EXPECT_EQ(longest_line(table.text()), 73U);
  }
  use_columns(kColumns);
}

TEST(Text, table_columns_align_and_lines_end_without_spaces) {
  TextTable table({{"name", true}, {"n"}});
  table.add({"a", "1"});
  table.add({"longer", "1000"});
  EXPECT_EQ(table.text(), "name       n\na          1\nlonger  1000\n");
  EXPECT_EQ(table.width(), 12U);
}

}  // namespace
}  // namespace ddpx
