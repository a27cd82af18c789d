#include "text/page.hpp"

#include <gtest/gtest.h>

#include "tests/support/lines.hpp"

namespace ddpx {
namespace {

using test::longest_line;

class Page : public testing::Test {
 protected:
  void TearDown() override { use_columns(kColumns); }
};

// Each of the four takes two columns: "a" and three of them are seven.
TEST_F(Page, counts_columns_and_breaks_between_characters) {
  EXPECT_EQ(broken("a中文模型", 7), (std::vector<std::string>{"a中文模", "型"}));
  EXPECT_EQ(broken("a中文模型", 6), (std::vector<std::string>{"a中文", "模型"}));
  EXPECT_EQ(broken("e\u0301e\u0301e\u0301", 2),
            (std::vector<std::string>{"e\u0301e\u0301", "e\u0301"}));
  EXPECT_EQ(broken("中", 1), (std::vector<std::string>{"中"}));
  EXPECT_EQ(labelled("中 ", "b"), "中 b\n");
}

TEST_F(Page, breaks_at_spaces_and_inside_words_only_when_it_must) {
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
  EXPECT_EQ(wrapped(std::string(50, 'a') + " " + std::string(50, 'b'), {.rest = 4}),
            std::string(50, 'a') + "\n    " + std::string(50, 'b') + "\n");
}

TEST_F(Page, a_word_too_long_is_broken_behind_a_comma_or_slash) {
  EXPECT_EQ(broken("ddp,accumulate=8,bucket=25MiB", 20),
            (std::vector<std::string>{"ddp,accumulate=8,", "bucket=25MiB"}));
  EXPECT_EQ(broken("https://a.example/long/path", 20),
            (std::vector<std::string>{"https://a.example/", "long/path"}));
}

TEST_F(Page, a_number_keeps_its_sign_and_its_unit) {
  EXPECT_EQ(broken("aaaa 12 %", 7), (std::vector<std::string>{"aaaa", "12 %"}));
  EXPECT_EQ(broken("aaaa +- 3", 7), (std::vector<std::string>{"aaaa", "+- 3"}));
}

TEST_F(Page, is_as_wide_as_the_terminal_from_40_to_80_columns) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word" + std::to_string(i) + " ";
  for (const auto& [given, most] :
       {std::pair(60U, std::size_t{60}), {10U, kFewestColumns}, {200U, kColumns}}) {
    use_columns(given);
    EXPECT_EQ(columns(), most);
    EXPECT_LE(longest_line(wrapped(text, {.rest = 2})), most);
    EXPECT_GT(longest_line(wrapped(text, {.rest = 2})), most - 10);
  }
}

TEST_F(Page, a_label_indents_what_stands_behind_it) {
  use_columns(40);
  EXPECT_EQ(labelled("  +12 %  ", "one two three four five six seven"),
            "  +12 %  one two three four five six\n         seven\n");
}

}  // namespace
}  // namespace ddpx
