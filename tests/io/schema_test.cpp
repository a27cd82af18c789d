#include "io/schema.hpp"

#include <gtest/gtest.h>

#include "tests/io/damaged.hpp"

namespace ddpx::io {
namespace {

using test::expect_input_error;

const std::string kGood =
    R"({"schema": "ddpx.machine", "schema_version": 1, "context": {"os": "x"}, "a": 1})";

Document opened(const std::string& text, std::string_view place) {
  return open_document(text, place, kMachineSchema);
}

TEST(Schema, a_right_file_opens_and_keeps_its_context) {
  const Document document = opened(kGood, "given.json");
  EXPECT_EQ(context_of(document, {"a"}), (Context{{"os", "x"}}));
}

TEST(Schema, another_file_is_refused_with_the_option_that_takes_it) {
  test::expect_refused(
      kGood, opened,
      {{"ddpx.machine",
        "ddpx.runs",
        {"schema: is \"ddpx.runs\", ddpx-validate takes it as --measured; accepted here: "
         "ddpx.machine"}},
       {"ddpx.machine", "ddpx.measurements", {"ddpx-calibrate takes it as --from"}},
       {"ddpx.machine", "ddpx.links", {"--link"}},
       {"ddpx.machine", "ddpx.link", {"--link"}},
       {"ddpx.machine", "ddpx.network", {"--network"}},
       {"ddpx.machine", "ddpx.forecast", {"no program reads it"}},
       {"ddpx.machine", "ddpx.validation", {"takes it as --validation"}},
       {"ddpx.machine", "other.schema\\n", {"\"other.schema\\n\"", "no schema of ddpx"}},
       {"\"ddpx.machine\"", "3", {"schema: is 3"}},
       {"\"schema\": \"ddpx.machine\", ", "", {"has no \"schema\"", "ddpx.machine is wanted"}}});
  expect_input_error([] { (void)opened("[]", "given.json"); }, {"is an array of 0", "an object"});
}

TEST(Schema, versions_this_build_does_not_read_are_refused) {
  test::expect_refused(
      kGood, opened,
      {{"\"schema_version\": 1",
        "\"schema_version\": 2",
        {"schema_version: is 2; accepted: 1, which this build reads; update ddpx"}},
       {"\"schema_version\": 1", "\"schema_version\": 1e6", {"update ddpx"}},
       {"\"schema_version\": 1", "\"schema_version\": 0", {"schema_version: is 0"}},
       {"\"schema_version\": 1", "\"schema_version\": -3", {"schema_version: is -3"}},
       {"\"schema_version\": 1", "\"schema_version\": 0.5", {"schema_version: is 0.5"}},
       {"\"schema_version\": 1", "\"schema_version\": \"1\"", {"schema_version: is \"1\""}},
       {"\"schema_version\": 1, ", "", {"has no \"schema_version\""}}});
}

TEST(Schema, a_context_is_texts_and_other_members_are_named) {
  const auto read = [](const std::string& text, std::string_view place) {
    const Document document = opened(text, place);
    return context_of(document, {"a"});
  };
  test::expect_refused(kGood, read,
                       {{"\"x\"", "1", {"context.os: is 1; accepted: a text"}},
                        {"{\"os\": \"x\"}", "[]", {"context: is an array of 0"}},
                        {"\"context\": {\"os\": \"x\"}, ", "", {"has no \"context\""}},
                        {"\"a\"", "\"b\"", {"unknown key \"b\""}}});
}

TEST(Schema, tells_our_files_from_others) {
  EXPECT_EQ(schema_of(kGood, "given.json"), "ddpx.machine");
  EXPECT_EQ(schema_of("# nccl-tests", "given.json"), std::nullopt);
  EXPECT_EQ(schema_of("{\"results\": []}", "given.json"), std::nullopt);
  EXPECT_EQ(schema_of("", "given.json"), std::nullopt);
  expect_input_error([] { (void)schema_of("{\"schema\": ", "given.json"); },
                     {"given.json: line 1"});
}

TEST(Schema, a_place_with_a_line_break_stays_one_line) {
  expect_input_error([] { (void)opened("{}", "two\nlines.json"); }, {"two\\nlines.json: "});
}

}  // namespace
}  // namespace ddpx::io
