// Links in files of their own: {"schema": "ddpx.links", ..., "links": [link, ...]}, or one link
// whose members stand at the top level under schema "ddpx.link". A machine file holds the same
// objects.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/schema.hpp"
#include "model/link.hpp"

namespace ddpx::io {

// Throws InputError naming `place` and the path of what is wrong.
[[nodiscard]] std::vector<Link> links_from_json(std::string_view text, std::string_view place);
[[nodiscard]] std::string to_json(std::span<const Link> links, const Context& context);

// An array of links inside another file; no two may have one name.
[[nodiscard]] SharedCore shared_core_of(const Reader& from);
[[nodiscard]] JsonObject shared_core_json(const SharedCore& core);

[[nodiscard]] std::vector<Link> links_of(const Reader& from);
[[nodiscard]] JsonArray links_json(std::span<const Link> links);

}  // namespace ddpx::io
