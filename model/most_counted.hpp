// The most that a link carries, as bus bandwidth: what bounds the fast end of whatever is said of
// it, a band (predict/check_link.hpp) or a forecast's interval.
#pragma once

#include <optional>

#include "model/link.hpp"

namespace ddpx {

// What machines whose switch adds up (NVLS) differ by (480 GB/s on H100 and H200).
inline constexpr double kInSwitchSpread = 1.08;

// Of a collective on `ranks` of one level or of all: by their hosts' wires, which a tree over two
// or three hosts of several ranks uses less than an all-reduce counts (tree_wire.hpp), and by the
// links inside a host, or its switch. Of figures, the figure with its error. nullopt where neither
// is known. InSwitch::no: rings and trees alone.
[[nodiscard]] std::optional<BytesPerSecond> most_counted(const Link& link, Collective kind,
                                                         int ranks,
                                                         InSwitch in_switch = InSwitch::unknown);

// The least time of `call`: its bytes at most_counted(); none where nothing bounds it.
[[nodiscard]] Seconds least_time(const Link& link, const CollectiveCall& call,
                                 InSwitch in_switch = InSwitch::unknown);

}  // namespace ddpx
