// Every number of a good file, one after the other, as far out as no such thing can be.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"
#include "model/error.hpp"

namespace ddpx::test {

// By the end of a number's path without indices: "links.curves.points.time_s".
struct Field {
  std::string_view end;
  double least;  // 0: and none is accepted too
  double most;
};

struct Number {
  std::string path;
  std::string plain;  // without indices
  io::JsonValue* value;
};

inline void add_numbers(std::vector<Number>& numbers, io::JsonValue& value, const std::string& path,
                        const std::string& plain) {
  if (value.as<double>() != nullptr) numbers.push_back({path, plain, &value});
  if (auto* array = value.as<io::JsonArray>()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      add_numbers(numbers, (*array)[i], path + "[" + std::to_string(i) + "]", plain);
  }
  if (auto* object = value.as<io::JsonObject>()) {
    for (auto& [key, member] : *object)
      add_numbers(numbers, member, path.empty() ? key : path + "." + key,
                  plain.empty() ? key : plain + "." + key);
  }
}

template <class Read>
std::string refusal(const Read& read, const std::string& text) {
  try {
    (void)read(text, "given.json");
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// `counts`: ends of the paths of numbers that are neither rates nor times.
template <class Read>
void expect_every_number_bounded(const std::string& good, const Read& read,
                                 std::span<const Field> fields,
                                 std::span<const std::string_view> counts) {
  io::JsonValue root = io::parse_json(good, "given.json");
  std::vector<Number> numbers;
  add_numbers(numbers, root, "", "");
  std::vector<bool> met(fields.size());
  for (const Number& number : numbers) {
    SCOPED_TRACE(number.path);
    const auto ends = [&](std::string_view end) {
      return number.plain == end || number.plain.ends_with("." + std::string(end));
    };
    if (std::any_of(counts.begin(), counts.end(), ends)) continue;
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& known) { return ends(known.end); });
    if (field == fields.end()) {
      ADD_FAILURE() << "is in neither table";
      continue;
    }
    met[static_cast<std::size_t>(field - fields.begin())] = true;
    const io::JsonValue kept = *number.value;
    const auto said_of = [&](double value) {
      *number.value = value;
      return refusal(read, io::print(root));
    };
    const std::string mine = number.path + ": is ";
    // Its end is in; what else the file says may not go with it.
    for (const double end : {field->least, field->most})
      EXPECT_THAT(said_of(end),
                  testing::Not(testing::AllOf(testing::StartsWith(mine), testing::HasSubstr(" ("),
                                              testing::Not(testing::HasSubstr("a time in which")))))
          << end;
    for (const double beyond :
         {field->least > 0 ? field->least / 1.01 : -1e-30, field->most * 1.01}) {
      const std::string message = said_of(beyond);
      EXPECT_THAT(message, testing::StartsWith("given.json: " + mine)) << beyond;
      EXPECT_THAT(message, testing::HasSubstr("; accepted: ")) << beyond;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
    *number.value = kept;
  }
  for (std::size_t i = 0; i < fields.size(); ++i)
    EXPECT_TRUE(met[i]) << fields[i].end << " is not in the file";
}

}  // namespace ddpx::test
