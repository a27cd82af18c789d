#include "io/json_reader.hpp"

#include <algorithm>
#include <cmath>

#include "io/nearest.hpp"
#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

// No second, byte or bandwidth lies outside; within, no quotient or product of a few overflows.
constexpr double kLeastNumber = 1e-18;
constexpr double kMostNumber = 1e18;
constexpr std::string_view kNumberRange = "a number from 1e-18 to 1e18";

std::string describe(const JsonValue& value) {
  if (const auto* array = value.as<JsonArray>()) {
    return "an array of " + std::to_string(array->size());
  }
  if (value.as<JsonObject>() != nullptr) return "an object";
  if (const auto* text = value.as<std::string>()) return io::quoted(*text);
  return print_compact(value);
}

std::string text_of(const Plausible& range) {
  return print_compact(range.least) + " to " + print_compact(range.most) + " (" +
         std::string(range.what) + ")";
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace

void Reader::refuse(std::string_view problem) const {
  const std::string path = path_of(document_->root, *value_);
  throw InputError(document_->place,
                   path.empty() ? std::string(problem) : path + ": " + std::string(problem));
}

void Reader::refuse_value(std::string_view accepted) const {
  refuse("is " + describe(*value_) + "; accepted: " + std::string(accepted));
}

const JsonObject& Reader::object() const {
  if (const auto* members = value_->as<JsonObject>()) return *members;
  refuse_value("an object");
}

std::optional<Reader> Reader::find(std::string_view key) const {
  for (const auto& [name, value] : object()) {
    if (name == key) return Reader(*document_, value);
  }
  return std::nullopt;
}

Reader Reader::at(std::string_view key) const {
  if (const auto member = find(key)) return *member;
  refuse("has no \"" + std::string(key) + "\", which is required");
}

void Reader::only(const std::vector<std::string_view>& keys) const {
  for (const auto& member : object()) {
    if (std::find(keys.begin(), keys.end(), member.first) != keys.end()) continue;
    const std::vector<std::string> accepted(keys.begin(), keys.end());
    refuse("has the unknown key " + io::quoted(member.first) + "; " +
           did_you_mean(member.first, accepted));
  }
}

std::vector<Reader> Reader::elements() const {
  const auto* array = value_->as<JsonArray>();
  if (array == nullptr) refuse_value("an array");
  std::vector<Reader> readers;
  readers.reserve(array->size());
  for (const JsonValue& element : *array) readers.push_back(Reader(*document_, element));
  return readers;
}

std::vector<Reader> Reader::filled() const {
  std::vector<Reader> readers = elements();
  if (readers.empty()) refuse("is empty; at least one element is required");
  return readers;
}

double Reader::number() const {
  const auto* value = value_->as<double>();
  if (value == nullptr) refuse_value("a number");
  if (std::abs(*value) > kMostNumber) refuse_value(kNumberRange);
  return *value;
}

double Reader::positive() const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(*value > 0)) refuse_value("a number above 0");
  if (*value < kLeastNumber || *value > kMostNumber) refuse_value(kNumberRange);
  return *value;
}

double Reader::whole() const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(*value >= 1) || *value != std::floor(*value))
    refuse_value("a whole number from 1 up");
  return positive();
}

double Reader::non_negative() const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(*value >= 0)) refuse_value("a number from 0 up");
  return *value == 0 ? 0 : positive();
}

double Reader::between(double low, double high) const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(low <= *value && *value <= high)) {
    refuse_value("a number from " + print_compact(low) + " to " + print_compact(high));
  }
  return *value;
}

double Reader::plausible(const Plausible& range) const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(range.least <= *value && *value <= range.most))
    refuse_value("a number from " + text_of(range));
  return *value;
}

double Reader::time_of(double bytes, const Plausible& rate) const {
  const double seconds = plausible(kMeasuredTime);
  if (!plausible_move(bytes, seconds, rate))
    refuse_value("a time in which " + print_compact(bytes) + " bytes make " + text_of(rate));
  return seconds;
}

std::vector<double> Reader::times_of(double bytes, const Plausible& rate) const {
  std::vector<double> values;
  for (const Reader& element : filled()) values.push_back(element.time_of(bytes, rate));
  return values;
}

double Reader::share() const { return between(0, 1); }

int Reader::integer(int low, int high) const {
  const auto* value = value_->as<double>();
  if (value == nullptr || !(low <= *value && *value <= high) || *value != std::trunc(*value)) {
    refuse_value("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<int>(*value);
}

bool Reader::is_null() const { return value_->as<std::monostate>() != nullptr; }

bool Reader::boolean() const {
  if (const auto* value = value_->as<bool>()) return *value;
  refuse_value("true, false");
}

std::string Reader::text() const {
  if (const auto* value = value_->as<std::string>()) return *value;
  refuse_value("a text");
}

std::string Reader::label() const {
  const auto* value = value_->as<std::string>();
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (value == nullptr || value->empty() || std::any_of(value->begin(), value->end(), control)) {
    refuse_value("a text that is not empty and has no control characters");
  }
  return *value;
}

std::vector<std::string> Reader::texts() const {
  std::vector<std::string> values;
  for (const Reader& element : elements()) values.push_back(element.text());
  return values;
}

std::vector<double> Reader::all_positive(const Plausible& range) const {
  std::vector<double> values;
  for (const Reader& element : filled()) values.push_back(element.plausible(range));
  return values;
}

std::vector<std::pair<std::string, std::string>> Reader::pairs() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : object()) {
    values.emplace_back(key, Reader(*document_, value).text());
  }
  return values;
}

std::size_t Reader::index_among(const std::vector<std::string_view>& names) const {
  const auto* word = value_->as<std::string>();
  const auto found = word == nullptr ? names.end() : std::find(names.begin(), names.end(), *word);
  if (found == names.end()) refuse_value(joined(names));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace ddpx::io
