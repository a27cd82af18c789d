#include "text/unicode.hpp"

#include <gtest/gtest.h>

namespace ddpx {
namespace {

// East_Asian_Width and General_Category by the Unicode Character Database.
TEST(Unicode, columns_are_those_of_the_east_asian_width) {
  EXPECT_EQ(columns_of(U'a'), 1U);
  EXPECT_EQ(columns_of(U'\u00E9'), 1U);      // é, A
  EXPECT_EQ(columns_of(U'\u05D0'), 1U);      // alef, N
  EXPECT_EQ(columns_of(U'\u1100'), 2U);      // Hangul choseong, W
  EXPECT_EQ(columns_of(U'\u1161'), 0U);      // its vowel, which joins it
  EXPECT_EQ(columns_of(U'\u3042'), 2U);      // hiragana, W
  EXPECT_EQ(columns_of(U'\u4E2D'), 2U);      // CJK, W
  EXPECT_EQ(columns_of(U'\uAC00'), 2U);      // Hangul syllable, W
  EXPECT_EQ(columns_of(U'\uFF21'), 2U);      // fullwidth A, F
  EXPECT_EQ(columns_of(U'\uFF71'), 1U);      // halfwidth katakana, H
  EXPECT_EQ(columns_of(U'\U0001F600'), 2U);  // emoji, W
  EXPECT_EQ(columns_of(U'\U00020000'), 2U);  // CJK extension B, W
  EXPECT_EQ(columns_of(U'\u0301'), 0U);      // combining acute, Mn
  EXPECT_EQ(columns_of(U'\u20DD'), 0U);      // enclosing circle, Me
  EXPECT_EQ(columns_of(U'\u0903'), 1U);      // visarga, Mc: takes its own place
  EXPECT_EQ(columns_of("e\u0301中a"), 4U);
  EXPECT_EQ(columns_of("\xE4\xB8"), 2U) << "a byte that belongs to nothing counts one";
}

TEST(Unicode, a_prefix_keeps_its_marks_and_never_cuts_a_character) {
  EXPECT_EQ(prefix_within("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(prefix_within("中文", 3), "中");
  EXPECT_EQ(prefix_within("中文", 1), "中") << "at least one";
  EXPECT_EQ(prefix_within("ab", 5), "ab");
}

TEST(Unicode, valid_names_are_printed_as_they_are) {
  for (const char* name : {"größe", "模型-7B", "Модель", "é", "e\u0301", "🚀", "שלום", "a b_c/d"})
    EXPECT_EQ(printable(name), name);
}

// Terminals act on these, or show something else than is there.
TEST(Unicode, what_acts_on_a_terminal_or_hides_is_printed_as_its_bytes) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  EXPECT_EQ(printable("a\u009b31m"), "a\\xc2\\x9b31m") << "CSI of eight bits";
  EXPECT_EQ(printable("a\u202Eb"), "a\\xe2\\x80\\xaeb") << "right-to-left override";
  EXPECT_EQ(printable("a\u2066b"), "a\\xe2\\x81\\xa6b") << "isolate";
  EXPECT_EQ(printable("a\u200Bb"), "a\\xe2\\x80\\x8bb") << "zero-width space";
  EXPECT_EQ(printable("\uFEFFa"), "\\xef\\xbb\\xbfa") << "byte order mark";
  EXPECT_EQ(printable("a\u3164"), "a\\xe3\\x85\\xa4") << "Hangul filler";
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

// The Unicode Standard, table 3-7.
TEST(Unicode, what_is_no_utf8_is_printed_as_its_bytes) {
  EXPECT_EQ(printable("a\xE4\xB8"), "a\\xe4\\xb8") << "cut short";
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond U+10FFFF";
  EXPECT_EQ(printable("\x80"), "\\x80");
}

TEST(Unicode, a_mark_needs_something_to_combine_with) {
  EXPECT_EQ(printable("\u0301a"), "\\xcc\\x81a") << "else it lands on the cell before";
  EXPECT_EQ(printable("a \u0301"), "a \\xcc\\x81");
  EXPECT_EQ(printable("a\u0301\u0302"), "a\u0301\u0302");
}

}  // namespace
}  // namespace ddpx
