// Times of ranks as logs have them: a line "Rank 3: 9.40ms" for each rank, in any order, with
// whatever a launcher puts before it ("[default0]:", "[1,0]<stdout>:").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/units.hpp"

namespace ddpx {

inline constexpr int kMostTimedRanks = 1 << 16;  // that a run may give times of

// By rank. Throws InputError at `place` with line and value where a rank is missing, comes twice or
// has no time.
[[nodiscard]] std::vector<Seconds> rank_times(std::string_view place, std::string_view text);

}  // namespace ddpx
