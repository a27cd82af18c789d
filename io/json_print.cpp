#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "io/json_records.hpp"

namespace ddpx::io {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kElementWidth = 300;  // of an element that holds a few records itself

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) throw std::logic_error("a JSON number must be finite");
  // Whole numbers as people write them: 4000000, not 4e+06; and no -0.
  constexpr double kPlain = 1e15;
  std::array<char, 32> text{};
  char* const first = text.data();
  char* const last = first + text.size();
  const bool plain = std::abs(value) < kPlain && value == std::trunc(value);
  const auto end = plain ? std::to_chars(first, last, static_cast<std::int64_t>(value)).ptr
                         : std::to_chars(first, last, value).ptr;
  out.append(first, end);
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 0xF];
    } else {
      out += c;
    }
  }
  out += '"';
}

bool append_scalar(std::string& out, const JsonValue& value) {
  if (const auto* number = value.as<double>()) {
    append_number(out, *number);
  } else if (const auto* text = value.as<std::string>()) {
    append_string(out, *text);
  } else if (const auto* flag = value.as<bool>()) {
    out += *flag ? "true" : "false";
  } else if (value.as<std::monostate>() != nullptr) {
    out += "null";
  } else {
    return false;
  }
  return true;
}

void append_line(std::string& out, const JsonValue& value) {
  if (append_scalar(out, value)) return;
  if (const auto* array = value.as<JsonArray>()) {
    out += '[';
    for (const JsonValue& element : *array) {
      if (&element != array->data()) out += ", ";
      append_line(out, element);
    }
    out += ']';
    return;
  }
  const auto& object = *value.as<JsonObject>();
  out += '{';
  for (const auto& member : object) {
    if (&member != object.data()) out += ", ";
    append_string(out, member.first);
    out += ": ";
    append_line(out, member.second);
  }
  out += '}';
}

bool is_record(const JsonValue& value) { return value.as<JsonObject>() != nullptr; }

// Whether a list of objects stands anywhere inside.
bool holds_records(const JsonValue& value) {
  if (const auto* array = value.as<JsonArray>()) {
    return std::any_of(array->begin(), array->end(), [](const JsonValue& element) {
      return is_record(element) || holds_records(element);
    });
  }
  const auto* object = value.as<JsonObject>();
  return object != nullptr && std::any_of(object->begin(), object->end(), [](const auto& member) {
           return holds_records(member.second);
         });
}

// Whether the value takes one line of its own, `indent` columns in.
bool on_one_line(const JsonValue& value, std::size_t indent, bool element) {
  if (element && !holds_records(value)) return true;
  const auto* array = value.as<JsonArray>();
  if (array != nullptr && std::any_of(array->begin(), array->end(), is_record)) return false;
  std::string line;
  append_line(line, value);
  return indent + line.size() <= (element ? kElementWidth : kLineWidth);
}

void append(std::string& out, const JsonValue& value, std::size_t indent, bool element) {
  if (indent > 0 && on_one_line(value, indent, element)) {
    append_line(out, value);
    return;
  }
  const std::string margin(indent + 2, ' ');
  if (const auto* array = value.as<JsonArray>()) {
    out += "[\n";
    for (const JsonValue& item : *array) {
      out += margin;
      append(out, item, indent + 2, true);
      out += &item == &array->back() ? "\n" : ",\n";
    }
    out.append(indent, ' ') += ']';
  } else if (const auto* object = value.as<JsonObject>()) {
    out += "{\n";
    for (const auto& member : *object) {
      out += margin;
      append_string(out, member.first);
      out += ": ";
      append(out, member.second, indent + 2, false);
      out += &member == &object->back() ? "\n" : ",\n";
    }
    out.append(indent, ' ') += '}';
  } else {
    append_scalar(out, value);
  }
}

}  // namespace

std::string print(const JsonValue& value) {
  std::string out;
  append(out, value, 0, false);
  return out += '\n';
}

std::string print_with_records(const JsonObject& members, std::string_view key, std::size_t count,
                               const std::function<JsonObject(std::size_t)>& record) {
  constexpr std::size_t kMember = 2;
  constexpr std::size_t kRecord = 4;
  std::string out = "{\n";
  for (const auto& member : members) {
    out.append(kMember, ' ');
    append_string(out, member.first);
    out += ": ";
    if (member.first == key && count > 0) {
      out += "[\n";
      for (std::size_t i = 0; i < count; ++i) {
        append(out.append(kRecord, ' '), record(i), kRecord, true);
        out += i + 1 < count ? ",\n" : "\n";
      }
      out.append(kMember, ' ') += ']';
    } else {
      append(out, member.second, kMember, false);
    }
    out += &member == &members.back() ? "\n" : ",\n";
  }
  return out += "}\n";
}

std::string print_compact(const JsonValue& value) {
  std::string out;
  append_line(out, value);
  return out;
}

}  // namespace ddpx::io
