#include "io/schema.hpp"

#include <algorithm>
#include <array>

#include "io/one_line.hpp"
#include "model/error.hpp"

namespace ddpx::io {
namespace {

struct Schema {
  std::string_view name;
  std::string_view use;
};

constexpr std::array<Schema, 9> kSchemas{{
    {kMachineSchema, "ddpx-predict and ddpx-validate take it as --machine"},
    {kMeasurementsSchema, "ddpx-calibrate takes it as --from"},
    {kLinkSchema, "ddpx-predict takes it as --link"},
    {kLinksSchema, "ddpx-predict takes it as --link"},
    {kNetworkSchema, "ddpx-predict and ddpx-validate take it as --network"},
    {kRunsSchema, "ddpx-validate takes it as --measured"},
    {kPricesSchema, "ddpx-predict takes it as --price"},
    {kForecastSchema, "ddpx-predict --json writes it and no program reads it"},
    {kValidationSchema, "ddpx-validate --json writes it and ddpx-predict takes it as --validation"},
}};

}  // namespace

std::optional<std::string> schema_of(std::string_view text, std::string_view place) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') return std::nullopt;
  const Document document{one_line(place, kLongestPlace), parse_json(text, place)};
  const auto schema = Reader(document).find("schema");
  return schema ? std::optional(schema->text()) : std::nullopt;
}

Document open_document(std::string_view text, std::string_view place, std::string_view schema) {
  std::string shown = one_line(place, kLongestPlace);
  JsonValue root = parse_json(text, shown);
  Document document{std::move(shown), std::move(root)};
  const Reader top(document);
  if (const auto given = top.find("schema"); !given) {
    top.refuse("has no \"schema\"; a file of schema " + std::string(schema) + " is wanted");
  } else if (const std::string name = given->text(); name != schema) {
    const auto known = std::find_if(kSchemas.begin(), kSchemas.end(),
                                    [&](const Schema& s) { return s.name == name; });
    given->refuse(
        "is " + io::quoted(name) + ", " +
        (known == kSchemas.end() ? "which is no schema of ddpx" : std::string(known->use)) +
        "; accepted here: " + std::string(schema));
  }
  const Reader version = top.at("schema_version");
  if (version.number() > kSchemaVersion) {
    version.refuse_value(std::to_string(kSchemaVersion) +
                         ", which this build reads; update ddpx to read a newer one");
  }
  (void)version.integer(1, kSchemaVersion);
  return document;
}

Context context_of(const Document& document, std::vector<std::string_view> members) {
  members.insert(members.begin(), {"schema", "schema_version", "context"});
  const Reader top(document);
  top.only(members);
  return top.at("context").pairs();
}

JsonObject pairs_json(const Context& context) {
  JsonObject members;
  for (const auto& [key, value] : context) members.emplace_back(key, value);
  return members;
}

JsonObject opening(std::string_view schema, const Context& context) {
  JsonObject members;
  members.emplace_back("schema", schema);
  members.emplace_back("schema_version", kSchemaVersion);
  members.emplace_back("context", pairs_json(context));
  return members;
}

}  // namespace ddpx::io
