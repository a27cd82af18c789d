// One rank of a process set that --run started: it trains one row and reports.
#pragma once

#include <string>

namespace ddpx {

// What this program is started with to be a rank, followed by a backend and the row: a runs file
// with nothing measured in it. The report is a runs file too, so that neither needs a format of its
// own.
inline constexpr const char* kRankWord = "--as-rank";

void train_as_rank(const std::string& backend, const std::string& row);

}  // namespace ddpx
