#include "io/json_value.hpp"
#include "io/one_line.hpp"

namespace ddpx::io {
namespace {

// Searched for when an error is reported, so that reading a good file keeps no paths.
bool append_path(std::string& path, const JsonValue& from, const JsonValue& target) {
  if (&from == &target) return true;
  const std::size_t length = path.size();
  if (const auto* array = from.as<JsonArray>()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      path += '[' + std::to_string(i) + ']';
      if (append_path(path, (*array)[i], target)) return true;
      path.resize(length);
    }
  } else if (const auto* object = from.as<JsonObject>()) {
    for (const auto& [key, value] : *object) {
      if (!path.empty()) path += '.';
      path += one_line(key);
      if (append_path(path, value, target)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

std::string path_of(const JsonValue& root, const JsonValue& target) {
  std::string path;
  append_path(path, root, target);
  return path;
}

}  // namespace ddpx::io
