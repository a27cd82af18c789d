#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/json_value.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

// Forty bytes each in memory: what the largest file we read may unfold to.
constexpr std::size_t kMostValues = 4'000'000;
constexpr std::size_t kLongestProblem = 160;

std::string position_text(std::string_view text, std::size_t position) {
  const std::string_view read = text.substr(0, position);
  const auto line = 1 + std::count(read.begin(), read.end(), '\n');
  const std::size_t newline = read.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? read.size() : read.size() - newline - 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(std::max<std::size_t>(column, 1));
}

// Python and C programs write these words where JSON has no number.
bool at_not_a_number(std::string_view text, std::size_t position) {
  const std::string_view rest = text.substr(position > 0 ? position - 1 : 0);
  for (const std::string_view word : {"NaN", "nan", "Infinity", "inf", "Inf"}) {
    if (rest.starts_with(word) || (position > 1 && text.substr(position - 2).starts_with(word))) {
      return true;
    }
  }
  return false;
}

// nlohmann's sentence without its error code and its own position.
std::string reason_of(std::string_view what) {
  if (const auto code = what.find("] "); code != std::string_view::npos)
    what.remove_prefix(code + 2);
  if (what.starts_with("parse error at")) {
    if (const auto colon = what.find(": "); colon != std::string_view::npos) {
      what.remove_prefix(colon + 2);
    }
  }
  return one_line(what, kLongestProblem);
}

// Builds the value from nlohmann's events: its own tree would have dropped the first of two equal
// keys, and its parser alone has no limit of depth.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, std::string_view place) : text_(text), place_(place) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return add(JsonValue()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(JsonObject()); }
  bool start_array(std::size_t) override { return open(JsonArray()); }
  bool key(string_t& name) override {
    open_.back()->as<JsonObject>()->emplace_back(std::move(name), JsonValue());
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool end_object() override {
    refuse_equal_keys(*open_.back());
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    refuse(position_text(text_, position) + ": " +
           (at_not_a_number(text_, position)
                ? "NaN and Infinity are not JSON; give a finite number or leave the key out"
                : reason_of(error.what())));
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const { throw InputError(place_, problem); }

  bool add(JsonValue value) {
    put(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    if (open_.size() == kDeepestJson) {
      refuse("is nested deeper than " + std::to_string(kDeepestJson) + " levels; no ddpx file is");
    }
    open_.push_back(&put(std::move(value)));
    return true;
  }

  JsonValue& put(JsonValue value) {
    if (++count_ > kMostValues) {
      refuse("holds more than " + std::to_string(kMostValues) + " values; no ddpx file does");
    }
    if (open_.empty()) return root_ = std::move(value);
    if (auto* array = open_.back()->as<JsonArray>()) return array->emplace_back(std::move(value));
    return open_.back()->as<JsonObject>()->back().second = std::move(value);
  }

  void refuse_equal_keys(const JsonValue& object) const {
    std::vector<std::string_view> keys;
    for (const auto& member : *object.as<JsonObject>()) keys.emplace_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return;
    const std::string path = path_of(root_, object);
    refuse((path.empty() ? "" : path + ": ") + "gives " + io::quoted(*twice) +
           " twice; keep one of them");
  }

  std::string_view text_;
  std::string_view place_;
  JsonValue root_;
  std::vector<JsonValue*> open_;  // stays valid: a parent grows only when its child is closed
  std::size_t count_ = 0;
};

}  // namespace

JsonValue parse_json(std::string_view text, std::string_view place) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string_view body = text.starts_with(kByteOrderMark) ? text.substr(3) : text;
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) throw InputError(place, "is empty; a JSON object is wanted");
  if (body[begin] != '{' && body[begin] != '[') {
    // One character: a log given in its place may begin with a host's name.
    throw InputError(place, "is not JSON: it begins with " + io::quoted(body.substr(begin, 1)) +
                                " where a JSON object begins with {");
  }
  // The parser takes this byte for the end of the text, and what follows for nothing.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    throw InputError(place, position_text(text, nul + 1) +
                                ": is the byte 0, which JSON text has nowhere; the file is damaged "
                                "or not UTF-8");
  Builder builder(text, place);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace ddpx::io
