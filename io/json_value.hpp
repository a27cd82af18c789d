// A JSON document as a value. It keeps members in the order written, so that what is read and
// written again has the same bytes. Reading is nlohmann's (json_parse.cpp alone pays for its
// compile time); checked access is json_reader.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ddpx::io {

class JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;

class JsonValue {
 public:
  JsonValue();  // null
  JsonValue(std::same_as<bool> auto value) : data_(value) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) JsonValue(T value)
      : data_(static_cast<double>(value)) {}
  JsonValue(std::string value);
  JsonValue(std::string_view value);
  JsonValue(const char* value);
  JsonValue(JsonArray value);
  JsonValue(JsonObject value);

  // Out of line: inlined into every writer, the variant's cases cost compile time and make GCC 12
  // warn of alternatives that are not there.
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  // nullptr when the value is of another kind.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  [[nodiscard]] T* as() {
    return std::get_if<T>(&data_);
  }

 private:
  std::variant<std::monostate, bool, double, std::string, JsonArray, JsonObject> data_;
};

// Two-space indent; an element of an array stands on one line unless it holds many records itself,
// so that a sample, a point or a row is a line to diff and to grep. Numbers are the shortest that
// read back the same. A number that is not finite is a programming error (std::logic_error).
[[nodiscard]] std::string print(const JsonValue& value);

// One line, no spaces that carry no meaning.
[[nodiscard]] std::string print_compact(const JsonValue& value);

// Where `target` stands in `root`, as "products[3].time_s"; empty for the root itself.
[[nodiscard]] std::string path_of(const JsonValue& root, const JsonValue& target);

inline constexpr std::size_t kDeepestJson = 64;

// Throws InputError naming `place`, line and column. Refuses what JSON leaves open or lets through
// silently: a key twice in one object, numbers beyond double, more than kDeepestJson levels.
[[nodiscard]] JsonValue parse_json(std::string_view text, std::string_view place);

}  // namespace ddpx::io
