// What a file says of a box: the all-reduce of an nccl-tests log that is judged, or nvbandwidth's
// copies.
#pragma once

#include <optional>
#include <string>

#include "predict/check_link.hpp"

namespace ddpx {

// Of several all-reduce tables the one on `ranks`, where there is one, else on the most; the notes
// say which that is and which are not judged. Throws InputError where there is none.
[[nodiscard]] MeasuredLink measured_log(const std::string& text, const std::string& place,
                                        std::optional<int> ranks);

// The slowest pair's. Throws InputError where no copies between GPUs are in it.
[[nodiscard]] MeasuredLink measured_copies(const std::string& text, const std::string& place);

}  // namespace ddpx
