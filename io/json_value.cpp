#include "io/json_value.hpp"

namespace ddpx::io {

JsonValue::JsonValue() = default;
JsonValue::JsonValue(std::string value) : data_(std::move(value)) {}
JsonValue::JsonValue(std::string_view value) : data_(std::string(value)) {}
JsonValue::JsonValue(const char* value) : data_(std::string(value)) {}
JsonValue::JsonValue(JsonArray value) : data_(std::move(value)) {}
JsonValue::JsonValue(JsonObject value) : data_(std::move(value)) {}

JsonValue::JsonValue(const JsonValue& other) = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

}  // namespace ddpx::io
