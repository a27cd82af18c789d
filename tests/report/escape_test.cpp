#include "report/escape.hpp"

#include <gtest/gtest.h>

namespace ddpx::report {
namespace {

constexpr const char* kReplaced = "\xEF\xBF\xBD";

TEST(Escape, markup_becomes_text_in_xml) {
  EXPECT_EQ(xml("<script>alert('x') & \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script&gt;");
}

TEST(Escape, markup_and_cell_boundaries_become_text_in_markdown) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("a\\|b"), "a\\\\\\|b");
  EXPECT_EQ(markdown_text("a\nb\r\nc"), "a b  c");
  EXPECT_EQ(markdown_text("<b>&amp;"), "&lt;b&gt;&amp;amp;");
  EXPECT_EQ(markdown_text("[x](y) `z` *w* # ~~"), "\\[x\\](y) \\`z\\` \\*w\\* \\# \\~\\~");
  EXPECT_EQ(markdown_text("mlp:width=4096,depth=8 +3.9 % gpu_bound"),
            "mlp:width=4096,depth=8 +3.9 % gpu_bound");
}

TEST(Escape, json_strings_are_quoted_and_hold_no_control_character) {
  EXPECT_EQ(json_string("a\"b\\c\nd"), "\"a\\\"b\\\\c d\"");
  EXPECT_EQ(json_string(std::string_view("\0\x1b", 2)),
            "\"" + std::string(kReplaced) + kReplaced + "\"");
}

TEST(Escape, well_formed_utf8_stays_and_all_else_is_replaced) {
  EXPECT_EQ(xml("Größe – 模型 🚀"), "Größe – 模型 🚀");
  for (const char* broken :
       {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    const std::string escaped = xml(broken);
    EXPECT_EQ(escaped.find(kReplaced), 0U) << broken;
    EXPECT_EQ(escaped.find_first_not_of("\xEF\xBF\xBD"), std::string::npos) << broken;
  }
}

TEST(Escape, marks_that_reorder_text_or_break_lines_are_replaced) {
  EXPECT_EQ(xml("a\u202Eb"), std::string("a") + kReplaced + "b");
  EXPECT_EQ(xml("a\u2028b"), std::string("a") + kReplaced + "b");
  EXPECT_EQ(xml("a\u0085b"), std::string("a") + kReplaced + "b");
  EXPECT_EQ(xml("a\u2013b"), "a\u2013b");
}

TEST(Escape, a_terminal_gets_what_it_can_show) {
  EXPECT_EQ(terminal_text("a–b\x1b[31m\n"), "a–b\\x1b[31m ");
}

}  // namespace
}  // namespace ddpx::report
