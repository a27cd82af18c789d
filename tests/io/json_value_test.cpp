#include "io/json_value.hpp"
#include "io/json_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;

JsonValue parsed(std::string_view text) { return parse_json(text, "given.json"); }

std::string compact(std::string_view text) { return print_compact(parsed(text)); }

TEST(ParseJson, keeps_members_in_the_order_written) {
  EXPECT_EQ(compact(R"( {"b":1, "a":[true,false,null,"x"],"":{}} )"),
            R"({"b": 1, "a": [true, false, null, "x"], "": {}})");
}

TEST(ParseJson, a_byte_order_mark_is_no_error) { EXPECT_EQ(compact("\xEF\xBB\xBF{}"), "{}"); }

TEST(ParseJson, syntax_errors_name_line_and_column) {
  struct Case {
    std::string_view text;
    std::initializer_list<std::string_view> words;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"{\"a\": 1,\n  \"b\": x}", {"given.json: line 2, column 8: ", "invalid literal"}},
           {"{\"a\": 1", {"line 1, column 7", "unexpected end of input"}},
           {"{\"a\": 1}}", {"line 1, column 9"}},
           {"{\"a\": 1} {", {"line 1, column 10"}},
           {"{\"a\": 1}\nx", {"line 2, column 1"}},
           {{"{\"a\": 1}\0", 9}, {"given.json: line 1, column 9", "byte 0"}},
           {{"{\"a\": 1}\n\0\0garbage", 18}, {"given.json: line 2, column 1", "byte 0"}},
           {{"{\"a\": \0}", 9}, {"line 1, column 7", "byte 0"}},
           {"{\"a\": 1,}", {"line 1, column 9"}},
           {"{a: 1}", {"line 1, column 2"}},
           {"[1 2]", {"line 1, column 4"}},
           {"{\"a\": 01}", {"line 1, column 8"}},
           {"{\"a\": +1}", {"line 1"}},
           {"{\"a\": 0x10}", {"line 1"}},
           {"{\"a\": 1 /* no */}", {"line 1"}},
           {"{\"a\": 'x'}", {"line 1"}},
           {"{\"a\": \"\\q\"}", {"line 1"}},
           {"{\"a\": \"\\ud800\"}", {"line 1"}},
           {"{\"a\": \"\xff\"}", {"line 1", "UTF-8"}},
           {"{\"a\": \"two\nlines\"}", {"line"}},
       }) {
    SCOPED_TRACE(c.text);
    expect_input_error([&] { (void)parsed(c.text); }, c.words);
  }
}

TEST(ParseJson, numbers_that_are_none_are_refused_by_name) {
  for (const std::string_view word : {"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"}) {
    SCOPED_TRACE(word);
    expect_input_error([&] { (void)parsed("{\"a\": " + std::string(word) + "}"); },
                       {"given.json: line 1, column", "NaN and Infinity are not JSON"});
  }
}

TEST(ParseJson, a_number_beyond_double_is_refused) {
  expect_input_error([] { (void)parsed("{\n\"a\": 1e999}"); },
                     {"line 2", "number overflow", "1e999"});
  expect_input_error([] { (void)parsed("{\"a\": -1e400}"); }, {"number overflow"});
}

// By one character: more of a log given in its place could be a host's name.
TEST(ParseJson, what_is_not_json_at_all_is_shown) {
  expect_input_error([] { (void)parsed(""); }, {"given.json: is empty"});
  expect_input_error([] { (void)parsed(" \n\t "); }, {"is empty"});
  expect_input_error([] { (void)parsed("# nThread 1 nGpus 2"); }, {"is not JSON", "\"#\""});
  expect_input_error(
      [] {
        (void)parsed(
            std::string_view("\x7f"
                             "ELF\x02\x01\0\0",
                             8));
      },
      {"is not JSON", "\\x7f"});
  expect_input_error([] { (void)parsed(std::string(100'000, '\0')); }, {"is not JSON", "\\x00"});
  expect_input_error([] { (void)parsed("\x1f\x8b\x08"); }, {"is not JSON", "\\x1f"});
}

TEST(ParseJson, a_key_given_twice_is_refused_with_its_path) {
  expect_input_error([] { (void)parsed(R"({"a": 1, "b": 2, "a": 3})"); }, {"gives \"a\" twice"});
  expect_input_error([] { (void)parsed(R"({"rows": [{}, {"x": {"k": 1, "k": 1}}]})"); },
                     {"given.json: rows[1].x: gives \"k\" twice"});
}

TEST(ParseJson, sixty_four_levels_are_read_and_one_more_is_not) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_NO_THROW((void)parsed(nested(kDeepestJson)));
  expect_input_error([&] { (void)parsed(nested(kDeepestJson + 1)); }, {"deeper than 64 levels"});
  expect_input_error([] { (void)parsed(std::string(10'000'000, '[')); }, {"deeper than 64"});
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  expect_input_error([&] { (void)parsed(objects); }, {"deeper than 64"});
}

TEST(ParseJson, more_values_than_memory_is_meant_for_are_refused) {
  std::string text = "[";
  for (int i = 0; i < 4'100'000; ++i) text += "0,";
  expect_input_error([&] { (void)parsed(text + "0]"); }, {"more than 4000000 values"});
}

TEST(ParseJson, a_long_line_or_text_stays_a_short_message) {
  try {
    (void)parsed("{\"a\": \"" + std::string(5'000'000, 'x'));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 300U);
  }
}

TEST(PrintJson, numbers_are_the_shortest_that_read_back_the_same) {
  for (const auto& [value, text] : std::initializer_list<std::pair<double, const char*>>{
           {0.1, "0.1"},
           {4e6, "4000000"},
           {-0.0, "0"},
           {1.0 / 3, "0.3333333333333333"},
           {9.2e-06, "9.2e-06"},
           {1e15, "1e+15"},
           {123456789012345.0, "123456789012345"},
           {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
           {std::numeric_limits<double>::denorm_min(), "5e-324"}}) {
    EXPECT_EQ(print_compact(value), text);
    EXPECT_EQ(*parsed("[" + print_compact(value) + "]").as<JsonArray>()->front().as<double>(),
              value);
  }
}

TEST(PrintJson, a_number_that_is_not_finite_is_a_programming_error) {
  EXPECT_THROW((void)print(std::nan("")), std::logic_error);
  EXPECT_THROW((void)print(JsonArray{std::numeric_limits<double>::infinity()}), std::logic_error);
}

TEST(PrintJson, texts_are_escaped_and_read_back) {
  const std::string text("quote \" slash \\ line \n tab \t nul \0 bell \a del \x7f é", 50);
  const std::string printed = print_compact(text);
  EXPECT_THAT(printed, testing::HasSubstr(R"(\" slash \\ line \n tab \t nul \u0000 bell \u0007)"));
  EXPECT_EQ(*parsed("[" + printed + "]").as<JsonArray>()->front().as<std::string>(), text);
}

TEST(PrintJson, an_element_of_an_array_stands_on_one_line) {
  const std::string text = R"({
  "name": "x",
  "none": [],
  "device": {"name": "T4", "multiprocessors": 40},
  "products": [
    {"rows": 256, "times_s": [0.001, 0.002]},
    {"rows": 512, "times_s": [0.003]}
  ]
}
)";
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(PrintJson, an_element_that_holds_many_records_is_opened) {
  JsonArray points;
  for (int i = 0; i < 20; ++i) {
    JsonObject point;
    point.emplace_back("bytes", 1 << i);
    point.emplace_back("time_s", 1e-5);
    points.emplace_back(std::move(point));
  }
  JsonObject curve;
  curve.emplace_back("points", points);
  JsonObject root;
  root.emplace_back("curves", JsonArray{JsonValue(curve)});
  EXPECT_THAT(print(root), testing::HasSubstr("\n        {\"bytes\": 2, \"time_s\": 1e-05},\n"));
}

TEST(PathOf, names_members_and_indices) {
  const JsonValue root = parsed(R"({"rows": [{}, {"gpus": 0}]})");
  const JsonValue& rows = root.as<JsonObject>()->front().second;
  const JsonValue& gpus = (*rows.as<JsonArray>())[1].as<JsonObject>()->front().second;
  EXPECT_EQ(path_of(root, gpus), "rows[1].gpus");
  EXPECT_EQ(path_of(root, root), "");
}

TEST(PrintJson, records_made_one_at_a_time_have_the_bytes_of_the_whole) {
  const auto record = [](std::size_t i) {
    JsonObject object;
    object.emplace_back("n", static_cast<double>(i));
    if (i == 1) object.emplace_back("list", JsonArray{JsonObject{{"a", 1}}, JsonObject{{"b", 2}}});
    return object;
  };
  for (const std::size_t count : {0U, 1U, 3U}) {
    JsonArray all;
    for (std::size_t i = 0; i < count; ++i) all.emplace_back(record(i));
    const JsonObject with{{"first", "x"}, {"rows", all}, {"last", JsonArray{1, 2}}};
    const JsonObject without{{"first", "x"}, {"rows", JsonArray()}, {"last", JsonArray{1, 2}}};
    EXPECT_EQ(print_with_records(without, "rows", count, record), print(with));
  }
}

}  // namespace
}  // namespace ddpx::io
