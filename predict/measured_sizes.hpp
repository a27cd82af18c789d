// Links whose measured messages are too small to show a bandwidth, and jobs that need one.
#pragma once

#include <optional>
#include <span>

#include "model/step.hpp"
#include "predict/setting.hpp"

namespace ddpx {

// The largest message that was measured, where none is large enough to give a bandwidth; nullopt
// where one is, and for figures. What is asked for is what price() would take: the collective
// itself where it was measured, on the nearest rank count.
[[nodiscard]] std::optional<Bytes> too_small_sizes(const Link& link, Collective kind, int ranks);

// What all ranks of the layout exchange over `given` and what joins its nodes. Throws InputError
// where that needs a bandwidth that the log does not show.
void check_sizes(const Query& query, const Link& given, const NodeLayout& layout,
                 std::span<const Exchange> exchanges);

// The same for every network of a setting.
void check_sizes(const Setting& setting, const NodeLayout& layout);

}  // namespace ddpx
