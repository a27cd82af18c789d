// Every file says at its beginning what it is, in which version, and where it came from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_reader.hpp"

namespace ddpx::io {

using Context = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::string_view kMachineSchema = "ddpx.machine";
inline constexpr std::string_view kMeasurementsSchema = "ddpx.measurements";
inline constexpr std::string_view kLinkSchema = "ddpx.link";
inline constexpr std::string_view kLinksSchema = "ddpx.links";
inline constexpr std::string_view kNetworkSchema = "ddpx.network";
inline constexpr std::string_view kRunsSchema = "ddpx.runs";
inline constexpr std::string_view kForecastSchema = "ddpx.forecast";
inline constexpr std::string_view kLinkCheckSchema = "ddpx.link_check";
inline constexpr std::string_view kPricesSchema = "ddpx.prices";
inline constexpr std::string_view kValidationSchema = "ddpx.validation";

// The version this build writes, of every schema.
inline constexpr int kSchemaVersion = 1;

// The schema a text declares: nullopt for what is no JSON object or declares none (others' logs).
// Throws InputError for a JSON object that cannot be parsed.
[[nodiscard]] std::optional<std::string> schema_of(std::string_view text, std::string_view place);

// Parses, and refuses any other schema (naming the option that takes it) or version.
[[nodiscard]] Document open_document(std::string_view text, std::string_view place,
                                     std::string_view schema);

// The context; refuses top-level members other than the opening ones and these.
[[nodiscard]] Context context_of(const Document& document, std::vector<std::string_view> members);

[[nodiscard]] JsonObject pairs_json(const Context& context);

// The opening members of a file.
[[nodiscard]] JsonObject opening(std::string_view schema, const Context& context);

}  // namespace ddpx::io
