#include "io/json_reader.hpp"

#include <gtest/gtest.h>

#include "model/operation.hpp"
#include "tests/support/expect_input_error.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;

Document given(std::string_view text) { return {"given.json", parse_json(text, "given.json")}; }

TEST(Reader, refuses_with_file_path_value_and_what_is_accepted) {
  const Document d = given(
      R"({"rows": [{"gpus": 0, "time_s": -1, "dtype": "fp8", "list": [1], "map": {}, "none": null,
                    "half": 1.5, "big": 1e300, "tiny": 1e-300}]})");
  const Reader row = Reader(d).at("rows").elements().front();
  const auto dtype = [&](const char* key) {
    return row.at(key).one_of({DType::fp32, DType::bf16});
  };
  expect_input_error([&] { (void)row.at("gpus").integer(1, 8); },
                     {"given.json: rows[0].gpus: is 0; accepted: a whole number from 1 to 8"});
  expect_input_error([&] { (void)row.at("half").integer(1, 8); }, {"is 1.5;", "whole number"});
  expect_input_error([&] { (void)row.at("big").integer(1, 8); }, {"is 1e+300;", "whole number"});
  expect_input_error([&] { (void)row.at("time_s").positive(); },
                     {"rows[0].time_s: is -1; accepted: a number above 0"});
  expect_input_error([&] { (void)row.at("gpus").positive(); },
                     {"is 0; accepted: a number above 0"});
  expect_input_error([&] { (void)row.at("big").positive(); }, {"from 1e-18 to 1e18"});
  expect_input_error([&] { (void)row.at("tiny").non_negative(); }, {"from 1e-18 to 1e18"});
  expect_input_error([&] { (void)row.at("big").number(); }, {"from 1e-18 to 1e18"});
  expect_input_error([&] { (void)row.at("half").share(); },
                     {"is 1.5; accepted: a number from 0 to 1"});
  expect_input_error([&] { (void)row.at("time_s").non_negative(); }, {"is -1;", "from 0 up"});
  expect_input_error([&] { (void)dtype("dtype"); },
                     {"rows[0].dtype: is \"fp8\"; accepted: fp32, bf16"});
  expect_input_error([&] { (void)dtype("gpus"); }, {"is 0; accepted: fp32, bf16"});
  expect_input_error([&] { (void)row.at("list").text(); }, {"is an array of 1; accepted: a text"});
  expect_input_error([&] { (void)row.at("map").positive(); }, {"is an object; accepted"});
  expect_input_error([&] { (void)row.at("none").positive(); }, {"is null; accepted"});
  expect_input_error([&] { (void)row.at("dtype").positive(); }, {"is \"fp8\"; accepted: a number"});
  expect_input_error([&] { (void)row.at("gpus").boolean(); }, {"accepted: true, false"});
  expect_input_error([&] { (void)row.at("list").at("x"); },
                     {"is an array of 1; accepted: an object"});
  expect_input_error([&] { (void)row.at("map").elements(); }, {"accepted: an array"});
}

TEST(Reader, a_missing_member_is_named_with_its_object) {
  const Document d = given(R"({"rows": [{}]})");
  expect_input_error([&] { (void)Reader(d).at("name"); },
                     {"given.json: has no \"name\", which is required"});
  expect_input_error([&] { (void)Reader(d).at("rows").elements()[0].at("gpus"); },
                     {"given.json: rows[0]: has no \"gpus\""});
}

TEST(Reader, an_unknown_member_is_refused_with_the_nearest_known_one) {
  const Document d = given(R"({"tims_s": 1})");
  expect_input_error(
      [&] {
        Reader(d).only({"bytes", "time_s"});
      },
      {"has the unknown key \"tims_s\"", "did you mean time_s?"});
  expect_input_error([&] { Reader(d).only({"bytes", "rows"}); }, {"accepted: bytes, rows"});
}

TEST(Reader, hostile_values_and_keys_stay_one_short_line) {
  JsonObject root;
  root.emplace_back("line\nbreak\x1b" + std::string(10'000, 'k'), std::string(10'000, '\n'));
  const Document d{"given.json", root};
  for (const auto& action : std::initializer_list<void (*)(const Reader&)>{
           [](const Reader& r) { r.only({"name"}); },
           [](const Reader& r) { (void)r.elements(); }}) {
    try {
      action(Reader(d));
      FAIL();
    } catch (const InputError& error) {
      const std::string_view message = error.what();
      EXPECT_EQ(message.find_first_of("\n\x1b"), std::string_view::npos);
      EXPECT_LT(message.size(), 300U);
    }
  }
}

TEST(Reader, reads_lists_and_pairs) {
  const Document d =
      given(R"({"t": ["a", "b"], "s": [1, 2.5], "c": {"z": "1", "a": "2"}, "e": []})");
  const Reader root(d);
  EXPECT_EQ(root.at("t").texts(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(root.at("s").all_positive(kMeasuredTime), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(root.at("c").pairs(),
            (std::vector<std::pair<std::string, std::string>>{{"z", "1"}, {"a", "2"}}));
  EXPECT_TRUE(root.at("e").texts().empty());
  expect_input_error([&] { (void)root.at("e").all_positive(kMeasuredTime); }, {"e: is empty"});
  expect_input_error([&] { (void)root.at("t").all_positive(kMeasuredTime); }, {"t[0]: is \"a\""});
  expect_input_error([&] { (void)root.at("s").texts(); }, {"s[0]: is 1; accepted: a text"});
}

}  // namespace
}  // namespace ddpx::io
