#include "io/one_line.hpp"

#include <gtest/gtest.h>

namespace ddpx::io {
namespace {

TEST(OneLine, leaves_plain_text_and_other_scripts_alone) {
  EXPECT_EQ(one_line("width=4096"), "width=4096");
  EXPECT_EQ(one_line("größer 宽度 🙂"), "größer 宽度 🙂");
}

TEST(OneLine, spells_out_what_would_break_or_reorder_the_line) {
  EXPECT_EQ(one_line("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(one_line(std::string_view("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(one_line("\xE2\x80\xA8"), "\\xe2\\x80\\xa8") << "line separator";
  EXPECT_EQ(one_line("\xE2\x80\xAE"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(one_line("\xC2\x85"), "\\xc2\\x85") << "next line";
}

TEST(OneLine, spells_out_bytes_that_are_not_utf8) {
  EXPECT_EQ(one_line("\xFF\xFE"), "\\xff\\xfe");
  EXPECT_EQ(one_line("\xC0\xAF"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(one_line("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(one_line("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(one_line("\xE2\x82"), "\\xe2\\x82") << "cut short";
}

TEST(OneLine, cuts_long_text_between_characters) {
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456789...");
  EXPECT_EQ(one_line("ééé", 3), "éé...");
  EXPECT_LE(one_line(std::string(1'000'000, '\n')).size(), 70U);
}

TEST(OneLine, quotes) { EXPECT_EQ(quoted("a\n"), "\"a\\n\""); }

}  // namespace
}  // namespace ddpx::io
