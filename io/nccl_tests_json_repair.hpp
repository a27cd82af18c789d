// nccl-tests writes JSON by hand: bare nan, raw bytes in strings, and, when it is stopped, no end.
// And it writes the whole environment, which is nobody else's business. Internal to the reader of
// nccl-tests logs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ddpx::io::nccl {

struct RepairedJson {
  std::string text;  // well-formed as far as brackets and words go; "env" is null
  bool cut = false;  // it ended early and was closed behind the last complete object
};

// The JSON object at the start of `text`, whatever follows it; nullopt when none can be made of it.
[[nodiscard]] std::optional<RepairedJson> repair_json(std::string_view text);

}  // namespace ddpx::io::nccl
