// What a job and its ranks agree on beforehand.
#pragma once

#include <string>

namespace ddpx {

// Environment of every rank: the job's directory, and the process that started it.
inline constexpr const char* kJobVariable = "DDPX_JOB_DIRECTORY";
inline constexpr const char* kLauncherVariable = "DDPX_JOB_LAUNCHER";
inline constexpr const char* kBoardName = "board";
inline constexpr const char* kResultsName = "results.json";
inline constexpr const char* kJobPrefix = "ddpx-";

// Where job directories lie: shared memory where there is such a file system, else $TMPDIR, else
// /tmp.
[[nodiscard]] std::string job_root();

}  // namespace ddpx
