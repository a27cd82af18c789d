// Checked access to a JSON document. Whatever is missing, of the wrong kind or out of range becomes
// one line that names the file, the path inside it, the value given and what is accepted:
//
//   runs.json: rows[3].gpus: is 0; accepted: a whole number from 1 to 1000000
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_value.hpp"
#include "io/plausible.hpp"

namespace ddpx::io {

struct Document {
  std::string place;  // the file, as the user named it
  JsonValue root;
};

// One value of a document, which must outlive it.
class Reader {
 public:
  explicit Reader(const Document& document) : Reader(document, document.root) {}

  // Member of an object; at() refuses when it is missing, find() gives nullopt.
  [[nodiscard]] Reader at(std::string_view key) const;
  [[nodiscard]] std::optional<Reader> find(std::string_view key) const;
  // Refuses members other than these; suggests the one that may have been meant.
  void only(const std::vector<std::string_view>& keys) const;

  // Elements of an array; filled() refuses an empty one.
  [[nodiscard]] std::vector<Reader> elements() const;
  [[nodiscard]] std::vector<Reader> filled() const;

  [[nodiscard]] double number() const;
  [[nodiscard]] double positive() const;
  // A count that may be large: a whole number from 1 up.
  [[nodiscard]] double whole() const;
  [[nodiscard]] double non_negative() const;
  [[nodiscard]] double between(double low, double high) const;
  // A number from 0 up that can be what its unit says.
  [[nodiscard]] double plausible(const Plausible& range) const;
  [[nodiscard]] double share() const;  // from 0 to 1
  [[nodiscard]] int integer(int low, int high) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] std::string text() const;
  // Text that is not empty.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] std::vector<double> all_positive(const Plausible& range) const;
  // The time, or times, of moving so many bytes, at a rate that can be.
  [[nodiscard]] double time_of(double bytes, const Plausible& rate) const;
  [[nodiscard]] std::vector<double> times_of(double bytes, const Plausible& rate) const;
  // An object whose members are all texts.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs() const;

  // The value among `accepted` whose name(value) is the text.
  template <class Enum>
  [[nodiscard]] Enum one_of(std::initializer_list<Enum> accepted) const {
    std::vector<std::string_view> names;
    for (const Enum value : accepted) names.push_back(name(value));
    return accepted.begin()[index_among(names)];
  }

  // Throws InputError: the place and path of this value, then `problem`.
  [[noreturn]] void refuse(std::string_view problem) const;
  // The same beginning with the value: "is 0; accepted: ...".
  [[noreturn]] void refuse_value(std::string_view accepted) const;

 private:
  Reader(const Document& document, const JsonValue& value) : document_(&document), value_(&value) {}

  [[nodiscard]] std::size_t index_among(const std::vector<std::string_view>& names) const;
  [[nodiscard]] const JsonObject& object() const;

  const Document* document_;
  const JsonValue* value_;
};

}  // namespace ddpx::io
