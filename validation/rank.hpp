// One rank of a process set that --run started: it trains rows, one after another, and reports.
#pragma once

#include <string>

namespace ddpx {

// What this program is started with to be a rank, followed by a backend and a description. The rows
// come as the job's work (launch.hpp), a runs file with nothing measured in it; the report is a
// runs file too, so that neither needs a format of its own.
inline constexpr const char* kRankWord = "--as-rank";

void train_as_rank(const std::string& backend);

}  // namespace ddpx
