// Links whose measured messages are too small to show a bandwidth, and jobs that need one.
#pragma once

#include <span>

#include "model/step.hpp"
#include "predict/setting.hpp"

namespace ddpx {

// What all ranks of the layout exchange over `given` and what joins its nodes. Throws InputError
// where that needs a bandwidth that the log does not show.
void check_sizes(const Query& query, const Link& given, const NodeLayout& layout,
                 std::span<const Exchange> exchanges);

// Whether any collective of the setting's links was measured with small messages only.
[[nodiscard]] bool has_small_sizes(const Setting& setting);

// What check_sizes() refuses of one step, of every network of a setting.
void check_sizes(const Setting& setting, const NodeLayout& layout);

}  // namespace ddpx
