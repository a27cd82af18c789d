// What a file says of a box: the all-reduce of an nccl-tests log that is judged, or nvbandwidth's
// copies.
#pragma once

#include <optional>
#include <string>

#include "predict/check_link.hpp"

namespace ddpx {

// Which of several tables is asked for.
struct WantedTable {
  std::optional<int> ranks;
  std::optional<bool> one_host;  // inside one, or over several
};

// Of several all-reduce tables the one that is wanted, by ranks before hosts, else the one on the
// most; the notes say which that is and which are not judged. Throws InputError where there is
// none.
[[nodiscard]] MeasuredLink measured_log(const std::string& text, const std::string& place,
                                        const WantedTable& wanted);

// "all_reduce on 16 ranks of 2 hosts"; without hosts where they are one, or not known.
[[nodiscard]] std::string all_reduce_on(int ranks, int hosts);

// The slowest pair's. Throws InputError where no copies between GPUs are in it.
[[nodiscard]] MeasuredLink measured_copies(const std::string& text, const std::string& place);

}  // namespace ddpx
