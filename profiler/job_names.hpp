// What a job and its ranks agree on beforehand.
#pragma once

#include <string>

namespace ddpx {

// Environment of every rank: the job's directory, and the process that started it.
inline constexpr const char* kJobVariable = "DDPX_JOB_DIRECTORY";
inline constexpr const char* kLauncherVariable = "DDPX_JOB_LAUNCHER";
// Of a rank that was not started by mpirun: its number, and how many there are.
inline constexpr const char* kRankVariable = "DDPX_RANK";
inline constexpr const char* kRanksVariable = "DDPX_RANKS";
inline constexpr const char* kBoardName = "board";
inline constexpr const char* kResultsName = "results.json";
inline constexpr const char* kWorkName = "work";
inline constexpr const char* kMeetingName = "meeting";
inline constexpr const char* kJobPrefix = "ddpx-";

// `name` with everything that could lead out of a directory taken out.
[[nodiscard]] std::string file_name(std::string name);

// Where job directories lie: shared memory where there is such a file system, else $TMPDIR, else
// /tmp.
[[nodiscard]] std::string job_root();

}  // namespace ddpx
